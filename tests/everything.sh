#!/bin/sh
# Everything that is listed is listed in each format, and can be shown in each.
#
#     tests/everything.sh PROGRAM [STRIDE]     shows each STRIDE-th thing of a kind (default: all)

set -u
LC_ALL=C
export LC_ALL
program=${1:?usage: everything.sh PROGRAM [STRIDE]}
stride=${2:-1}
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# says WORDS...: prints something, and nothing on standard error.
says() {
    "$program" "$@" > "$tmp/out" 2> "$tmp/err"
    status=$?
    if [ "$status" -ne 0 ] || [ ! -s "$tmp/out" ] || [ -s "$tmp/err" ]; then
        echo "everything: vramsim $*: status $status, $(wc -c < "$tmp/out") bytes: $(cat "$tmp/err")"
        exit 1
    fi
}

# Kinds and the option of `show` for them: name = none, no = not shown.
kinds() {
    cat <<END
hw --hw
hosts --host
models --model
workloads --workload
engines --engine
machines name
links name
storage name
formats no
strategies no
metrics no
END
}

says list
says list --json
count=0
kinds > "$tmp/kinds"
while read -r kind option; do
    says list "$kind"
    says list "$kind" --json
    says list "$kind" --names
    [ "$option" != no ] || continue
    [ "$option" != name ] || option=
    awk -v stride="$stride" 'NR % stride == 0' "$tmp/out" > "$tmp/names"
    while read -r name; do
        says show ${option:+"$option"} "$name"
        says show ${option:+"$option"} "$name" --json
        count=$((count + 1))
    done < "$tmp/names"
done < "$tmp/kinds"
says help
for command in sweep run limit validate list show; do
    says help "$command"
    says "$command" --help
done
echo "everything: $count things shown"
