#!/bin/sh
# The committed table of predictions is what this build predicts, so that every change of a prediction is a diff
# to read; and the error table, from which predictions take their intervals, is what follows from it.
#
#     tests/predicted.sh [--update] PROGRAM

set -u
cd "$(dirname "$0")/.." || exit 1
table=tests/measured/predicted.csv
accuracy=workloads/accuracy/table.json
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
update=0
if [ "${1:-}" = --update ]; then
    update=1
    shift
fi
program=${1:?usage: predicted.sh [--update] PROGRAM}

if ! "$program" validate --quiet --write-predicted "$tmp/predicted.csv" \
    --write-accuracy "$tmp/accuracy.json" > "$tmp/out" 2>&1; then
    cat "$tmp/out"
    exit 1
fi
if [ "$update" -eq 1 ]; then
    cp "$tmp/predicted.csv" $table
    cp "$tmp/accuracy.json" $accuracy
elif ! cmp -s $table "$tmp/predicted.csv"; then
    echo "predicted: $table is not what this build predicts (- committed, + built)"
    diff -u $table "$tmp/predicted.csv" | sed '1,2d' | head -n 60
    echo "predicted: where that is wanted: cmake --build build/release --target predicted-update"
    exit 1
elif ! cmp -s $accuracy "$tmp/accuracy.json"; then
    echo "predicted: $accuracy is not what follows from the measured cases (- committed, + built)"
    diff -u $accuracy "$tmp/accuracy.json" | sed '1,2d' | head -n 60
    echo "predicted: to renew it: cmake --build build/release --target accuracy-update"
    exit 1
fi
