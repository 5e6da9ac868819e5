#!/bin/sh
# The rules of the source text that no compiler checks. One line per fault; status 1 if there is any.
#
#     tests/tidy/tidy.sh [ROOT]
#
# include            the order of folders: base < {des, memory, hw, model, engine, work} < {plan, import}
#                    < {strategy, sched} < run < {calib, report} < cli; never sideways; strategies are strangers
#                    to each other; only sim/run/lower*.c sees both des/ and memory/; kernels/ sees no sim/
# function-length    at most 70 lines
# file-length        at most 600 lines
# line-length        at most 100 columns, but in tables (.def), where a row is one line
# banned-call        unbounded or unsafe functions; printing and exiting outside sim/cli
# header-comment     a header begins with a comment
# list               each line of a list.def has its file; each file of strategy/ and sched/, and each command
#                    (sim/cli/cmd_NAME.c), has its line
# file-size          at most 256 KiB, but measured data

set -u
LC_ALL=C
export LC_ALL

here=$(cd "$(dirname "$0")" && pwd) || exit 2
cd "${1:-$here/../..}" || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 2' HUP INT TERM

# words_of FILE: the names in the lines X(name, ...).
words_of() {
    sed -n 's/^[ \t]*X([ \t]*\([A-Za-z0-9_]*\).*/\1/p' "$1"
}

# need_line FOLDER FILE NAME
need_line() {
    if ! words_of "$1/list.def" 2> /dev/null | grep -qx "$3"; then
        echo "$2:1: list: no line X($3) in $1/list.def"
    fi
}

check_lists() {
    for list in $(find sim -name list.def | sort); do
        folder=${list%/list.def}
        if [ -z "$(words_of "$list")" ]; then
            echo "$list:1: list: no line X(name)"
        fi
        for name in $(words_of "$list"); do
            if [ ! -f "$folder/$name.c" ] && [ ! -f "$folder/cmd_$name.c" ]; then
                line=$(grep -n "X([ ]*${name}[^A-Za-z0-9_]" "$list" | head -n 1 | cut -d: -f1)
                echo "$list:$line: list: no file $folder/$name.c"
            fi
        done
        for name in $(words_of "$list" | sort | uniq -d); do
            echo "$list:1: list: '$name' stands twice"
        done
    done
    # A member has no header of its own: the list declares it. What has one serves the members, and the
    # registry is what reads the list.
    for folder in sim/strategy sim/sched; do
        for file in $(find $folder -name '*.c' 2> /dev/null | sort); do
            name=$(basename "$file" .c)
            if [ "$name" = registry ] || [ -f "${file%.c}.h" ]; then
                continue
            fi
            need_line $folder "$file" "$name"
        done
    done
    for file in sim/cli/cmd_*.c; do
        name=$(basename "$file" .c)
        [ -f "$file" ] && need_line sim/cli "$file" "${name#cmd_}"
    done
}

check_sizes() {
    find . \( -path ./.git -o -path './build*' \) -prune -o -type f -size +262144c -print | sort |
        while read -r file; do
            file=${file#./}
            case $file in
            tests/measured/*.csv) ;;
            *) echo "$file:1: file-size: $(($(wc -c < "$file") / 1024)) KiB, at most 256" ;;
            esac
        done
}

check_text() {
    members=$(
        for folder in strategy sched; do
            words_of sim/$folder/list.def 2> /dev/null | sed "s|^|$folder/|"
        done
    )
    printf 'BEGIN {\n' > "$tmp/members.awk"
    for member in $members; do
        printf '    member["%s"] = 1\n' "$member" >> "$tmp/members.awk"
    done
    printf '}\n' >> "$tmp/members.awk"
    for folder in sim kernels tests; do
        [ -d $folder ] || continue
        find $folder -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' \)
    done | sort > "$tmp/files"
    if [ ! -s "$tmp/files" ]; then
        echo "sim:1: list: no source file under $(pwd)"
        return
    fi
    xargs awk -f "$tmp/members.awk" -f "$here/tidy.awk" < "$tmp/files" || echo > "$tmp/awk_failed"
}

{
    check_text
    check_lists
    check_sizes
} > "$tmp/faults"

if [ -s "$tmp/faults" ]; then
    cat "$tmp/faults"
    echo "tidy: $(wc -l < "$tmp/faults") faults" >&2
    exit 1
fi
if [ -e "$tmp/awk_failed" ]; then
    echo "tidy: awk failed" >&2
    exit 2
fi
echo "tidy: $(wc -l < "$tmp/files") files, no fault"
