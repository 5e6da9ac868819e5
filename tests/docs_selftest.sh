#!/bin/sh
# Does docs.sh see what it must see? Documents against a stand-in program.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

cat > "$tmp/program" << 'END'
#!/bin/sh
case $1 in
say) shift; printf '%s\n' "$@" ;;
read) cat "$2" ;;
bad) echo "vramsim: no such thing" >&2; exit 2 ;;
esac
END
chmod +x "$tmp/program"

# expect STATUS TEXT [--update]: what docs.sh makes of $tmp/doc.
expect() {
    output=$(sh "$here/docs.sh" ${3:+"$3"} "$tmp/program" "$tmp/doc.md" 2>&1)
    status=$?
    case $output in
    *"$2"*) ;;
    *) status="$status without '$2'" ;;
    esac
    if [ "$status" != "$1" ]; then
        echo "docs selftest: status $status, expected $1, of"
        cat "$tmp/doc.md"
        echo "$output"
        failed=1
    fi
}
# block LINE...: a document with one console block.
block() {
    { echo 'text'; echo '```console'; printf '%s\n' "$@"; echo '```'; echo 'more'; } > "$tmp/doc.md"
}
# holds LINE...: the block is that now.
holds() {
    cp "$tmp/doc.md" "$tmp/is.md"
    block "$@"
    if ! cmp -s "$tmp/is.md" "$tmp/doc.md"; then
        echo 'docs selftest: renewed to'
        cat "$tmp/is.md"
        failed=1
    fi
}

block '$ vramsim say a b' a b
expect 0 '1 commands print what is shown'
block '$ vramsim say a b' a c
expect 1 '-c'
expect 0 '' --update
holds '$ vramsim say a b' a b
block '$ vramsim say a b c' a b
expect 1 '+c'

# A line of dots stands for any lines, at each end and between.
block '$ vramsim say a b c d' ... b ... d
expect 0 '1 commands'
block '$ vramsim say a b c d' a ...
expect 0 '1 commands'
block '$ vramsim say a b c d' ... b
expect 1 'other lines'
block '$ vramsim say a b c d' c ...
expect 1 'other lines'
block '$ vramsim say a b c d' ... c ... b ...
expect 1 'other lines'

# Renewed by their words: numbers may have moved.
block '$ vramsim say "speed 31" "fits 1" "size 5.4 GiB" end' ... 'size 5.3 GiB' ... end
expect 0 '' --update
holds '$ vramsim say "speed 31" "fits 1" "size 5.4 GiB" end' ... 'size 5.4 GiB' ... end
block '$ vramsim say "speed 31" end' ... 'gone 5' ...
expect 1 'not found: gone 5' --update
holds '$ vramsim say "speed 31" end' ... 'gone 5' ...

# Errors are shown as they are; what shows nothing must end well; other programs are not run.
block '$ vramsim bad' 'vramsim: no such thing'
expect 0 '1 commands'
block '$ vramsim bad'
expect 1 'ended with status 2'
block '$ false' '$ vramsim say a' a '$ false' b
expect 0 '1 commands'
block '$ false'
expect 1 'no command found'

# Files of the document are there, more than one command too.
{
    printf '%s\n' "a file \`x.json\`:" '' '```json' '{}' '```' '' '```console'
    printf '%s\n' '$ vramsim read x.json' '{}' '$ vramsim say a' a '```'
} > "$tmp/doc.md"
expect 0 '2 commands'

[ "$failed" -eq 0 ] && echo 'docs selftest: as expected'
exit "$failed"
