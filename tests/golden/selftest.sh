#!/bin/sh
# Does run.sh see what it must see? Cases against a stand-in program that does what its arguments say.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/cases" || exit 1
VRAMSIM_GOLDEN_CASES=$tmp/cases
export VRAMSIM_GOLDEN_CASES

cat > "$tmp/program" <<'END'
#!/bin/sh
case $1 in
say) printf '%s' "$2" ;;
path) echo "at $SRC/hwprofiles: '$2'"; echo "$SRC" >&2 ;;
read) cat "$2" ;;
write) echo text > "$2"; exit "$3" ;;
exit) exit "$2" ;;
esac
END
chmod +x "$tmp/program"

failed=0
# expect STATUS CASE TEXT: run.sh must end so and print TEXT.
expect() {
    output=$(sh "$here/run.sh" "$tmp/program" "$2" 2>&1)
    status=$?
    case $output in
    *"$3"*) ;;
    *) status="$status without '$3'" ;;
    esac
    if [ "$status" != "$1" ]; then
        echo "golden selftest: $2: status $status, expected $1"
        echo "$output"
        failed=1
    fi
}
# case NAME ARGUMENTS EXPECTED_OUT
case_of() {
    echo "$2" > "$tmp/cases/$1.cmd"
    printf '%s' "$3" > "$tmp/cases/$1.out"
}

case_of same "say 'two words'" 'two words'
expect 0 same '1 cases, 0 failed'
case_of other "say 'two words'" 'two word'
expect 1 other '+two words'
case_of newline "say 'two words'" 'two words
'
expect 1 newline 'out differs'
case_of silent 'exit 0' ''
expect 0 silent '0 failed'
case_of status 'exit 3' ''
expect 1 status 'exit differs'
echo 3 > "$tmp/cases/status.exit"
expect 0 status '0 failed'
case_of source 'path "$SRC"' "at @SRC@/hwprofiles: '@SRC@'
"
expect 1 source 'err differs'
echo @SRC@ > "$tmp/cases/source.err"
expect 0 source '0 failed'
case_of input 'read it.txt' 'content'
mkdir "$tmp/cases/input.in" && printf content > "$tmp/cases/input.in/it.txt"
expect 0 input '0 failed'
case_of litter 'write it.txt 2' ''
echo 2 > "$tmp/cases/litter.exit"
expect 1 litter 'status 2, but it wrote'
case_of file 'write it.txt 0' ''
mkdir "$tmp/cases/file.files" && echo text > "$tmp/cases/file.files/it.txt"
expect 0 file '0 failed'
echo other > "$tmp/cases/file.files/it.txt"
expect 1 file 'file ./it.txt differs'
printf '# why\nsay\n  line\n' > "$tmp/cases/lines.cmd"
printf line > "$tmp/cases/lines.out"
expect 0 lines '0 failed'
expect 2 missing "no case 'missing'"

# --update makes every case true, and leaves no file for what is empty.
sh "$here/run.sh" --update "$tmp/program" other status file silent || failed=1
for name in other status file silent; do
    expect 0 $name '0 failed'
done
if [ -e "$tmp/cases/silent.out" ]; then
    echo "golden selftest: --update left an empty file"
    failed=1
fi
[ "$failed" -eq 0 ] && echo "golden selftest: good"
exit "$failed"
