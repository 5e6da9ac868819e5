#!/bin/sh
# The documents show what this build prints.
#
#     tests/docs.sh [--update] PROGRAM [FILE...]
#
# In a ```console block, "$ vramsim WORDS" is run by a shell in an empty folder, and the lines behind it, up to
# the next "$ " or the end of the block, are what it must print on standard output and standard error. A line
# "..." there stands for any number of lines. Where nothing is shown, only the exit status must be 0. Commands
# of other programs are not run. A ```json block behind a line that ends in `NAME.json`: is a file that the
# folder holds, so that examples of files are tried as well.
#
# --update writes down what the program prints now. A part between two "..." is looked for by its words, with
# its numbers left out, and keeps its number of lines; what is no longer found is named. Read the diff.

set -u
LC_ALL=C
export LC_ALL

cd "$(dirname "$0")/.." || exit 1
update=0
if [ "${1:-}" = --update ]; then
    update=1
    shift
fi
program=${1:?usage: docs.sh [--update] PROGRAM [FILE...]}
shift
case $program in
/*) ;;
*) program=$PWD/$program ;;
esac
[ $# -gt 0 ] || set -- README.md hwprofiles/README.md workloads/README.md

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$tmp/bin" "$tmp/home" || exit 1
ln -s "$program" "$tmp/bin/vramsim"

# Takes a document apart: DIR/N.cmd, .want and .line for its N-th command, DIR/in/NAME.json for its files.
cat > "$tmp/split.awk" << 'AWK'
/^```/ {
    if (block != "") {
        block = ""
    } else {
        block = substr($0, 4)
        if (block == "json" && match(before, /`[A-Za-z0-9._-]+\.json`:$/))
            file = dir "/in/" substr(before, RSTART + 1, RLENGTH - 3)
        else
            file = ""
        shown = 0
    }
    next
}
block == "" && NF > 0 { before = $0 }
block == "json" && file != "" { print > file }
block == "console" && /^\$ / {
    shown = /^\$ vramsim( |$)/
    if (shown) {
        n++
        print substr($0, 3) > (dir "/" n ".cmd")
        printf "" > (dir "/" n ".want")
        print FNR > (dir "/" n ".line")
    }
    next
}
block == "console" && shown { print > (dir "/" n ".want") }
AWK

# compare.awk WANT GOT: exit status 0 where they agree. As for a glob: the first part stands at the beginning, the
# last at the end, each between them where it is first found.
cat > "$tmp/compare.awk" << 'AWK'
FILENAME == ARGV[1] { want[++w] = $0; next }
{ got[++g] = $0 }
function stands(from, to, at,    i) {
    for (i = from; i <= to; i++)
        if (at + i - from > g || got[at + i - from] != want[i])
            return 0
    return 1
}
END {
    at = 1
    for (from = 1; from <= w + 1; from = to + 2) {
        for (to = from; to <= w && want[to] != "..."; to++)
            ;
        to--
        size = to - from + 1
        last = to == w
        if (from == 1 && !stands(from, to, 1))
            exit 1
        if (from > 1 && last)
            at = g - size + 1 > at ? g - size + 1 : at
        while (from > 1 && !last && at <= g && !stands(from, to, at))
            at++
        if (!stands(from, to, at) || (last && at + size - 1 != g))
            exit 1
        at += size
    }
}
AWK

# renew.awk WANT GOT: prints what the document should show.
cat > "$tmp/renew.awk" << 'AWK'
FILENAME == ARGV[1] { want[++w] = $0; next }
{ got[++g] = $0 }
function words(line) {
    gsub(/[0-9.,%+-]+|[KMGT]i?B/, "", line)
    gsub(/[ \t]+/, " ", line)
    return line
}
function alike(from, to, at,    i, n) {
    if (words(got[at]) != words(want[from]))
        return 0
    for (i = from; i <= to && at + i - from <= g; i++)
        n += words(got[at + i - from]) == words(want[i])
    return n
}
END {
    elided = 0
    for (i = 1; i <= w; i++)
        elided += want[i] == "..."
    if (elided == 0) {
        for (i = 1; i <= g; i++)
            print got[i]
        exit 0
    }
    at = 1
    for (from = 1; from <= w + 1; from = to + 2) {
        for (to = from; to <= w && want[to] != "..."; to++)
            ;
        to--
        best = from == 1 ? 1 : 0
        most = 0
        for (k = at; from > 1 && from <= to && k <= g; k++)
            if (alike(from, to, k) > most) {
                most = alike(from, to, k)
                best = k
            }
        if (best == 0 && from <= to) {
            print "not found: " want[from] > "/dev/stderr"
            status = 1
        }
        for (i = from; i <= to; i++)
            print(best > 0 ? got[best + i - from] : want[i])
        for (i = best + to - from + 1; best > 0 && to == w && from > 1 && from <= to && i <= g; i++)
            print got[i]
        at = best > 0 ? best + to - from + 1 : at
        if (to < w)
            print "..."
    }
    exit status
}
AWK

# Puts the outputs DIR/N.new into the document.
cat > "$tmp/join.awk" << 'AWK'
/^```/ { block = block != "" ? "" : substr($0, 4); shown = 0 }
block == "console" && /^\$ / {
    shown = /^\$ vramsim( |$)/
    print
    if (shown) {
        n++
        while ((getline line < (dir "/" n ".new")) > 0)
            print line
        close(dir "/" n ".new")
    }
    next
}
block == "console" && shown { next }
{ print }
AWK

# run_command DIR N: DIR/N.got.
run_command() {
    rm -rf "$tmp/here" && mkdir "$tmp/here" && cp -R "$1/in/." "$tmp/here/" || exit 1
    words=$(cat "$1/$2.cmd")
    (
        cd "$tmp/here" && exec env -i PATH="$tmp/bin:$PATH" HOME="$tmp/home" LC_ALL=C sh -c "$words"
    ) > "$1/$2.out" 2> "$1/$2.err" < /dev/null
    status=$?
    cat "$1/$2.out" "$1/$2.err" > "$1/$2.got"
    if [ ! -s "$1/$2.want" ] && [ "$status" -ne 0 ]; then
        echo "docs: $document:$(cat "$1/$2.line"): '$words' ended with status $status"
        cat "$1/$2.err"
        failed=1
    fi
}

check() {
    [ -s "$1/$2.want" ] || return 0
    if ! awk -f "$tmp/compare.awk" "$1/$2.want" "$1/$2.got"; then
        echo "docs: $document:$(cat "$1/$2.line"): '$(cat "$1/$2.cmd")' prints other lines (- shown, + printed)"
        diff -u "$1/$2.want" "$1/$2.got" | sed '1,2d' | head -n 80
        failed=1
    fi
}

renew() {
    if [ ! -s "$1/$2.want" ]; then
        : > "$1/$2.new"
    elif awk -f "$tmp/compare.awk" "$1/$2.want" "$1/$2.got"; then
        cp "$1/$2.want" "$1/$2.new"
    elif ! awk -f "$tmp/renew.awk" "$1/$2.want" "$1/$2.got" > "$1/$2.new" 2> "$1/$2.lost"; then
        cp "$1/$2.want" "$1/$2.new"
        echo "docs: $document:$(cat "$1/$2.line"): by hand: $(cat "$1/$2.lost")"
        failed=1
    fi
}

failed=0
count=0
for document in "$@"; do
    dir=$tmp/$(echo "$document" | tr / _)
    mkdir -p "$dir/in" || exit 1
    awk -v dir="$dir" -f "$tmp/split.awk" "$document" || exit 1
    n=1
    while [ -e "$dir/$n.cmd" ]; do
        run_command "$dir" $n
        if [ "$update" -eq 1 ]; then
            renew "$dir" $n
        else
            check "$dir" $n
        fi
        n=$((n + 1))
        count=$((count + 1))
    done
    if [ "$update" -eq 1 ]; then
        awk -v dir="$dir" -f "$tmp/join.awk" "$document" > "$tmp/new" && cp "$tmp/new" "$document" || exit 1
    fi
done
if [ "$count" -eq 0 ]; then
    echo "docs: no command found in $*"
    exit 1
fi
[ "$failed" -eq 0 ] && [ "$update" -eq 0 ] && echo "docs: $count commands print what is shown"
exit "$failed"
