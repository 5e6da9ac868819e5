#!/bin/sh
# The CUDA probes' program: without a device one line and status 1; with one, a document that calibrate reads.
#     probe_cuda.sh VRAMSIM PROBE
set -eu
vramsim=$1 probe=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "probe_cuda: $*" >&2; exit 1; }

[ "$("$probe" --list | wc -l)" -ge 12 ] || fail "lists too few"
if "$probe" --wrong 2> /dev/null; then fail "took --wrong"; fi
status=0
"$probe" --only cuda_launch > "$folder/launch.json" 2> "$folder/said" || status=$?
if [ "$status" -ne 0 ]; then
    [ "$status" -eq 1 ] || fail "status $status"
    [ "$(wc -l < "$folder/said")" -eq 1 ] || fail "said: $(cat "$folder/said")"
    [ ! -s "$folder/launch.json" ] || fail "wrote samples of nothing"
    exit 0
fi
grep -q '"variant":.*"graph"' "$folder/launch.json" || fail "no graph was launched"
# Launches alone make no profile: the message names what is missing, and nothing is written.
if "$vramsim" calibrate --samples "$folder/launch.json" --out "$folder/me.json" 2> "$folder/said"; then
    fail "took samples of one probe"
fi
grep -q 'no measurement of ' "$folder/said" || fail "said: $(cat "$folder/said")"
[ ! -e "$folder/me.json" ] || fail "wrote a profile"
