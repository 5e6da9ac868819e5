#!/bin/sh
# A short measurement: the probes' document is one that calibrate reads, a probe that cannot run says why, and an
# interrupted measurement leaves nothing behind. Speeds are not looked at.
#     probe.sh VRAMSIM PROBE
set -eu
vramsim=$1 probe=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "probe: $*" >&2; exit 1; }

"$probe" --only cpu_gemm_q8 > "$folder/gemm.json"
grep -q '"seconds"' "$folder/gemm.json" || fail "no seconds"
# One probe makes no host: the message names what is missing, and nothing is written.
if "$vramsim" calibrate --samples "$folder/gemm.json" --out "$folder/me.json" 2> "$folder/said"; then
    fail "took samples of one probe"
fi
grep -q 'no measurement of cpu_read (not run)' "$folder/said" || fail "said: $(cat "$folder/said")"
[ ! -e "$folder/me.json" ] || fail "wrote a profile"

"$probe" --only storage_random --folder /proc > "$folder/proc.json"
grep -q '"skipped"' "$folder/proc.json" || fail "made a file in /proc"
if "$probe" --full --wrong 2> /dev/null; then fail "took --wrong"; fi
[ "$("$probe" --list | wc -l)" -ge 10 ] || fail "lists too few"

# Ended in the middle: no profile, no samples, no file of storage probes.
mkdir "$folder/tmp" "$folder/disk"
TMPDIR="$folder/tmp" timeout -s INT 0.3 "$vramsim" calibrate --folder "$folder/disk" --out "$folder/me.json" \
    > /dev/null 2>&1 || true
sleep 0.5
[ ! -e "$folder/me.json" ] || fail "an interrupted measurement wrote a profile"
[ -z "$(ls -A "$folder/tmp")" ] || fail "left samples: $(ls -A "$folder/tmp")"
[ -z "$(ls -A "$folder/disk")" ] || fail "left in the folder: $(ls -A "$folder/disk")"
