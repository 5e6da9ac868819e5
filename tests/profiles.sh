#!/bin/sh
# The profiles that hwprofiles/sources describes are those that are committed.
#
#     tests/profiles.sh            compare
#     tests/profiles.sh --update   write them

set -u
LC_ALL=C
export LC_ALL

cd "$(dirname "$0")/.." || exit 1
make=hwprofiles/sources/make.sh
if [ "${1:-}" = --update ]; then
    exec sh "$make"
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

sh "$make" "$tmp" || exit 1
failed=0
for file in $(cd "$tmp" && find . -name '*.json' | sort); do
    if ! cmp -s "$tmp/$file" "hwprofiles/$file"; then
        echo "profiles: hwprofiles/${file#./} is not what $make writes (- committed, + made)"
        diff -u "hwprofiles/$file" "$tmp/$file" | sed '1,2d'
        failed=1
    fi
done
# A device that only a file knows would be one that the tables have lost.
for file in hwprofiles/devices/*.json; do
    name=${file##*/}
    if [ ! -e "$tmp/devices/$name" ] && [ "$name" != toy.json ]; then
        echo "profiles: $file stands in no table"
        failed=1
    fi
done
# Bad cells are refused, with their place.
cp -R hwprofiles/sources "$tmp/sources" || exit 1
bad() {
    sed "$1" "hwprofiles/sources/$2" > "$tmp/sources/$2"
    if sh "$tmp/sources/make.sh" "$tmp/bad" 2> "$tmp/err"; then
        echo "profiles: $2 after '$1' was taken"
        failed=1
    elif ! grep -q "$2:[0-9]*: .*$3" "$tmp/err"; then
        echo "profiles: $2 after '$1': expected '$3', found: $(cat "$tmp/err")"
        failed=1
    fi
    cp "hwprofiles/sources/$2" "$tmp/sources/$2"
}
bad 's/,360,12.74,/,360GB,12.74,/' devices.csv "column bandwidth: found '360GB', expected a number"
bad 's/,12GiB,"11.76GiB/,12gb,"11.76GiB/' devices.csv "expected a size in GiB, MiB, GB or B"
bad 's/\[assumed: @slots\]/[guessed: @slots]/' devices.csv "unknown method 'guessed'"
bad 's/@slots/@slot/' devices.csv "unknown reference @slot"
bad 's/,ada-geforce,/,ada-gforce,/' devices.csv "unknown rates 'ada-gforce'"
bad 's/^m1,CPU of the Apple M1,16GiB/m1,CPU of the Apple M1,/' hosts.csv "column ram is empty"
bad 's/^m1,/m1,,/' machines.csv "found [0-9]* cells, expected [0-9]*"
[ "$failed" -eq 0 ]
