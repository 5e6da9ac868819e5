#!/bin/sh
# Golden tests of the command line.
#
#     tests/golden/run.sh [--update] PROGRAM [CASE...]
#
# A case is tests/golden/CASE.cmd: the arguments, in shell words, over any number of lines; a line that begins
# with '#' says why the case exists. Beside it, each absent where it would be empty (status: where it is 0):
#     CASE.out  CASE.err  CASE.exit    standard output, standard error, exit status
#     CASE.in/                         files that are copied into the working folder
#     CASE.files/                      files that the command must have written there, byte for byte
# The command runs in an empty folder with an empty environment. After bad usage or bad input (status 2) it must
# have written nothing. Nothing is normalised but the path of the source tree, which reads @SRC@.
# --update writes down what the program does now: read the diff before you commit it.

set -u
LC_ALL=C
export LC_ALL

here=$(cd "$(dirname "$0")" && pwd) || exit 1
cases=${VRAMSIM_GOLDEN_CASES:-$here}
src=$(cd "$here/../.." && pwd) || exit 1
update=0
if [ "${1:-}" = --update ]; then
    update=1
    shift
fi
if [ $# -lt 1 ]; then
    echo "usage: run.sh [--update] PROGRAM [CASE...]" >&2
    exit 2
fi
program=$1
shift
case $program in
/*) ;;
*) program=$PWD/$program ;;
esac
if [ ! -x "$program" ]; then
    echo "golden: no program '$program'" >&2
    exit 2
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# normalise FROM TO: the path of the source tree becomes @SRC@. (The path is a literal, not a pattern.)
normalise() {
    awk -v path="$src" '{
        line = ""
        while ((at = index($0, path)) > 0) {
            line = line substr($0, 1, at - 1) "@SRC@"
            $0 = substr($0, at + length(path))
        }
        print line $0
    }' "$1" > "$2"
    # awk ends every line; the command may not have.
    if [ -s "$1" ] && [ -n "$(tail -c 1 "$1")" ]; then
        printf '%s' "$(cat "$2")" > "$2.cut" && mv "$2.cut" "$2"
    fi
}

# execute CASE: runs it in $tmp/here; leaves $tmp/out, err, exit.
execute() {
    rm -rf "$tmp/here" && mkdir "$tmp/here" || exit 1
    if [ -d "$cases/$1.in" ]; then
        cp -R "$cases/$1.in/." "$tmp/here/" || exit 1
    fi
    ( cd "$tmp/here" && find . -type f | sort ) > "$tmp/before"
    words=$(sed '/^#/d' "$cases/$1.cmd" | tr '\n' ' ')
    (
        cd "$tmp/here" || exit 1
        SRC=$src
        eval "set -- $words"
        exec env -i PATH="$PATH" HOME="$tmp/here" LC_ALL=C SRC="$SRC" \
            ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} \
            ${UBSAN_OPTIONS:+"UBSAN_OPTIONS=$UBSAN_OPTIONS"} \
            "$program" "$@"
    ) > "$tmp/out.raw" 2> "$tmp/err.raw" < /dev/null
    echo $? > "$tmp/exit"
    normalise "$tmp/out.raw" "$tmp/out"
    normalise "$tmp/err.raw" "$tmp/err"
    ( cd "$tmp/here" && find . -type f | sort ) > "$tmp/after"
    comm -13 "$tmp/before" "$tmp/after" > "$tmp/written"
}

# compare CASE WHAT ACTUAL DEFAULT: against CASE.WHAT, or DEFAULT where that does not exist.
compare() {
    expected=$cases/$1.$2
    if [ ! -e "$expected" ]; then
        expected=$tmp/default
        printf '%s' "$4" > "$expected"
    fi
    if cmp -s "$expected" "$3"; then
        return 0
    fi
    echo "golden: $1: $2 differs (- expected, + actual)"
    diff -u "$expected" "$3" | sed '1,2d'
    return 1
}

check() {
    good=0
    compare "$1" out "$tmp/out" '' || good=1
    compare "$1" err "$tmp/err" '' || good=1
    compare "$1" exit "$tmp/exit" "0
" || good=1
    if [ "$(cat "$tmp/exit")" -eq 2 ] && [ -s "$tmp/written" ]; then
        echo "golden: $1: status 2, but it wrote $(tr '\n' ' ' < "$tmp/written")"
        good=1
    fi
    if [ -d "$cases/$1.files" ]; then
        for file in $(cd "$cases/$1.files" && find . -type f | sort); do
            if ! cmp -s "$cases/$1.files/$file" "$tmp/here/$file"; then
                echo "golden: $1: file $file differs (- expected, + actual)"
                diff -u "$cases/$1.files/$file" "$tmp/here/$file" 2>&1 | sed '1,2d'
                good=1
            fi
        done
    fi
    return $good
}

# keep FROM TO DEFAULT: an expectation that equals its default needs no file.
keep() {
    printf '%s' "$3" > "$tmp/default"
    if cmp -s "$1" "$tmp/default"; then
        rm -f "$2"
    else
        cp "$1" "$2"
    fi
}

renew() {
    keep "$tmp/out" "$cases/$1.out" ''
    keep "$tmp/err" "$cases/$1.err" ''
    keep "$tmp/exit" "$cases/$1.exit" "0
"
    if [ -d "$cases/$1.files" ]; then
        for file in $(cd "$cases/$1.files" && find . -type f | sort); do
            cp "$tmp/here/$file" "$cases/$1.files/$file"
        done
    fi
}

if [ $# -eq 0 ]; then
    for file in "$cases"/*.cmd; do
        [ -e "$file" ] || continue
        name=${file##*/}
        set -- "$@" "${name%.cmd}"
    done
fi

failed=0
for name in "$@"; do
    if [ ! -e "$cases/$name.cmd" ]; then
        echo "golden: no case '$name'" >&2
        exit 2
    fi
    execute "$name"
    if [ "$update" -eq 1 ]; then
        renew "$name"
    elif ! check "$name"; then
        failed=$((failed + 1))
    fi
done
[ "$update" -eq 1 ] || echo "golden: $# cases, $failed failed"
[ "$failed" -eq 0 ]
