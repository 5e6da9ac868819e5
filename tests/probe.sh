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

# Programs that stand in for the probes beside a copy of vramsim: host and GPU make one profile; a GPU's program that
# finds no device is no error, one that fails is.
mkdir "$folder/bin"
cp "$vramsim" "$folder/bin/vramsim"
stand_in() { # NAME STATUS SAMPLES [MORE OF MACHINE]
    cat > "$folder/bin/$1" << END
#!/bin/sh
cat << DOCUMENT
{"schema": "vramsim-samples/1", "program": "$1", "date": "2026-11-29", "machine": {"processor": "Toy", "cores": 4,
 "sockets": 1, "ram_bytes": 64e9, "available_bytes": 60e9$4}, "samples": [$3]}
DOCUMENT
exit $2
END
    chmod +x "$folder/bin/$1"
}
host='{"probe": "cpu_read", "threads": 4, "work": 1e9, "unit": "bytes", "seconds": [0.025]},
 {"probe": "cpu_gemm_q8_0", "threads": 4, "work": 1e9, "unit": "flops", "seconds": [0.01]}'
gpu='{"probe": "cuda_memory", "variant": "read", "bytes": 1e9, "work": 907.2e6, "unit": "bytes", "seconds": [1e-3]}'
name=', "gpu": {"name": "NVIDIA GeForce RTX 4090", "memory_bytes": 25.2e9, "sms": 128}'
stand_in vramsim-probe 0 "$host" ''
stand_in vramsim-probe-cuda 0 "$gpu" "$name"
"$folder/bin/vramsim" calibrate --out "$folder/both.json" > "$folder/said" 2>&1 || fail "said: $(cat "$folder/said")"
grep -q '"arch": "#arch"' "$folder/both.json" || fail "no device in the profile"
grep -q '"host": "#host"' "$folder/both.json" || fail "no host in the profile"
"$folder/bin/vramsim" calibrate --check "$folder/both.json" | grep -q 'arch.read_fraction .*+0.0 %' ||
    fail "the same numbers drifted"
"$vramsim" run --hw "$folder/both.json" --task generate --model llama3-8b --weights q4_k_m > "$folder/said" 2>&1 ||
    fail "said: $(cat "$folder/said")"
stand_in vramsim-probe-cuda 1 "$gpu" "$name"
"$folder/bin/vramsim" calibrate --out "$folder/host.json" > "$folder/said" 2>&1 || fail "said: $(cat "$folder/said")"
grep -q '"arch"' "$folder/host.json" && fail "a device that was not measured"
stand_in vramsim-probe-cuda 3 "$gpu" "$name"
if "$folder/bin/vramsim" calibrate --out "$folder/none.json" > "$folder/said" 2>&1; then fail "took status 3"; fi
grep -q 'vramsim-probe-cuda ended with status 3' "$folder/said" || fail "said: $(cat "$folder/said")"
[ ! -e "$folder/none.json" ] || fail "wrote a profile of a failed measurement"
