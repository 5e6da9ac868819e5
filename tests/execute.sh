#!/bin/sh
# `run --on`: a plan is carried out on this processor and stands beside its prediction; what can't be carried out is said
# in one line, and nothing stays behind. Speeds are not looked at.
#     execute.sh VRAMSIM EXECUTE
set -eu
vramsim=$1 execute=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "execute: $*" >&2; exit 1; }

# refused STATUS WORDS COMMAND...: it ends so, and says the words in one line on standard error.
refused() {
    status=$1 words=$2
    shift 2
    found=0
    "$@" > "$folder/out" 2> "$folder/said" || found=$?
    [ "$found" -eq "$status" ] || fail "$*: status $found, expected $status: $(cat "$folder/said")"
    grep -q "$words" "$folder/said" || fail "$*: said $(cat "$folder/said"), expected $words"
    [ ! -s "$folder/out" ] || fail "$*: printed $(cat "$folder/out")"
}

TMPDIR=$folder/tmp
export TMPDIR
mkdir "$TMPDIR" "$folder/bin"
cp "$vramsim" "$execute" "$folder/bin/"

# A machine without a device: its plan runs here.
cat > "$folder/me.json" << 'END'
{"schema": "vramsim-samples/1", "program": "vramsim-probe", "date": "2026-11-30", "machine": {"processor": "Toy",
 "cores": 4, "sockets": 1, "ram_bytes": 64e9, "available_bytes": 60e9}, "samples": [
 {"probe": "cpu_read", "threads": 4, "work": 1e9, "unit": "bytes", "seconds": [0.025]},
 {"probe": "cpu_gemm_q8_0", "threads": 4, "work": 1e9, "unit": "flops", "seconds": [0.01]}]}
END
"$vramsim" calibrate --samples "$folder/me.json" --out "$folder/toy.json" > "$folder/said"
set -- run --hw "$folder/toy.json" --model gpt2 --engine llamacpp --task generate --weights q8_0 --prompt 8 --gen 3
"$folder/bin/vramsim" "$@" --on cpu --timeline "$folder/t.json" > "$folder/out" 2> "$folder/said" ||
    fail "said: $(cat "$folder/said")"
grep -q '^executed on this processor' "$folder/out" || fail "no table: $(cat "$folder/out")"
grep -q '^  decode, last  *[0-9]' "$folder/out" || fail "no last step: $(cat "$folder/out")"
grep -q '"name": "measured"' "$folder/t.json" || fail "nothing measured in the timeline"
"$folder/bin/vramsim" "$@" --on cpu --json > "$folder/out" || fail "no JSON"
grep -q '"measured_peak_bytes": [0-9]' "$folder/out" || fail "no measured memory: $(cat "$folder/out")"

"$folder/bin/vramsim" "$@" --on cpu --markdown | grep -q '^| decode, last ' || fail "no Markdown"

refused 2 'the plan is for a processor: expected --on cpu' "$folder/bin/vramsim" "$@" --on cuda:0
refused 2 'the plan is for rtx4090: expected --on cuda:N' "$folder/bin/vramsim" run --hw rtx4090 --workload chat8b --on cpu
refused 2 'expected cpu or cuda:N' "$folder/bin/vramsim" run --hw rtx4090 --workload chat8b --on cuda:x
refused 1 'vramsim-execute-cuda was not found' "$folder/bin/vramsim" run --hw rtx4090 --workload chat8b --on cuda:0
refused 2 'usage' "$execute" --rounds 0 plan.json
refused 2 'no-such-file: ' "$execute" "$folder/no-such-file"
refused 2 'no JSON document' "$execute" "$0"
refused 1 'the processor is device 0' "$execute" --device 1 tests/golden/run-plan.files/plan.json
[ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(ls -A "$TMPDIR")"

# A program that fails leaves nothing, and its words stand.
printf '#!/bin/sh\necho "no luck" >&2\nexit 3\n' > "$folder/bin/vramsim-execute"
refused 1 'vramsim-execute ended with status 3' "$folder/bin/vramsim" "$@" --on cpu
printf '#!/bin/sh\necho "{}"\n' > "$folder/bin/vramsim-execute"
refused 2 'schema' "$folder/bin/vramsim" "$@" --on cpu
[ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(ls -A "$TMPDIR")"
