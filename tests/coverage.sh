#!/bin/sh
# Line coverage of sim/ by what has run in a build with the preset `coverage`, by folder, and the files that are
# covered least. Fails below the minimum.
#
#     tests/coverage.sh BUILD MINIMUM_PERCENT GCOV...

set -u
LC_ALL=C
export LC_ALL
src=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=${1:?usage: coverage.sh BUILD MINIMUM_PERCENT GCOV...}
minimum=${2:?usage: coverage.sh BUILD MINIMUM_PERCENT GCOV...}
shift 2
table=$build/coverage.csv

gcovr --root "$src" --filter "$src/sim/" --gcov-executable "$*" --csv --output "$table" "$build" || exit 1
# filename,line_total,line_covered,...: headers with inline functions and sources alike.
awk -F, -v minimum="$minimum" '
function percent(part, whole) { return whole ? 100 * part / whole : 100 }
NR > 1 {
    folder = $1
    sub("/[^/]*$", "", folder)
    lines[folder] += $2; covered[folder] += $3
    all += $2; all_covered += $3
    if ($2 > 0)
        printf "%6.1f %%  %-40s %5d of %5d lines\n", percent($3, $2), $1, $3, $2 | "sort -n | head -n 15"
}
END {
    close("sort -n | head -n 15")
    for (folder in lines)
        printf "%-16s %6.1f %%  %5d of %5d lines\n", folder, percent(covered[folder], lines[folder]), \
            covered[folder], lines[folder] | "sort"
    close("sort")
    printf "%-16s %6.1f %%  %5d of %5d lines, %s %% asked for\n", "in all", percent(all_covered, all), \
        all_covered, all, minimum
    exit all == 0 || percent(all_covered, all) < minimum
}' "$table"
