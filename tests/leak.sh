#!/bin/sh
# Runs one command in its forms under valgrind: no leak, no invalid access, no file left open. Exit status 77 = there
# is no valgrind.
#
#     tests/leak.sh PROGRAM help|list|show|run|files|sweep|replay|limit|validate

set -u
case ${1:?usage: leak.sh PROGRAM COMMAND} in
/*) program=$1 ;;
*) program=$PWD/$1 ;;
esac
command=${2:?usage: leak.sh PROGRAM COMMAND}
if ! command -v valgrind > /dev/null; then
    echo "leak: valgrind is not installed: skipped"
    exit 77
fi
cd "$(dirname "$0")/.." || exit 1
src=$PWD
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
flagship='--hw rtx4090 --workload qlora70b'
toy='--hw toy --model toy --engine ideal'
server='--hw h100 --model llama-3.1-8b --engine vllm'

# leak STATUS WORDS...: runs vramsim WORDS, which must end with that status.
leak() {
    wanted=$1
    shift
    echo "leak: vramsim $*"
    valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=all \
        --errors-for-leak-kinds=all --track-fds=yes --log-file="$tmp/log" \
        "$program" "$@" > /dev/null 2> "$tmp/err"
    status=$?
    # --quiet still names descriptors that are open at the end: those that the program didn't open are inherited.
    if ! awk '/Open file descriptor/ { open = $0; next }
              open != "" { if ($0 !~ /inherited/) { print open; found = 1 } open = "" }
              END { exit found }' "$tmp/log" || [ "$status" -ne "$wanted" ]; then
        cat "$tmp/err" "$tmp/log"
        echo "leak: vramsim $*: status $status, expected $wanted, and no file open"
        exit 1
    fi
}

# $flagship, $toy and $server are several words on purpose.
# shellcheck disable=SC2086
case $command in
help)
    leak 0 help
    leak 0 help run
    leak 0 sweep --help
    leak 0 --version
    leak 2 help nothing
    leak 2 nothing
    ;;
list)
    leak 0 list
    for kind in hw machines hosts links storage workloads engines formats strategies traces metrics; do
        leak 0 list $kind
    done
    leak 0 list models --json
    leak 0 list hw --vendor amd --min-memory 64GiB --names
    leak 2 list nothing
    ;;
show)
    leak 0 show toy
    leak 0 show --hw rtx4090x2+rtx3090 --json
    leak 0 show --model llama-3-70b
    leak 0 show --model "$src/tests/configs/mistral-7b-v0.1.json" --json
    leak 0 show --workload qlora70b
    leak 0 show --engine llamacpp --engine-version b2824
    leak 0 show --host server-2t
    leak 0 show pcie4x16
    leak 2 show --hw rtx9999
    ;;
run)
    leak 0 run $flagship
    leak 0 run $flagship --json
    leak 3 run $flagship --fail-on-oom
    leak 0 run --hw rtx3060 --workload chat8b --engine llamacpp --gpu-layers auto --markdown
    leak 0 run $toy --task train --set device.memory.bandwidth=50GB/s
    leak 2 run $flagship --seq 0
    leak 2 run $toy --task train --set device.memory.bandwith=50GB/s
    leak 2 run --hw toy --workload "$tmp/none.json"
    ;;
files)
    cd "$tmp" || exit 1
    leak 0 run $toy --task generate --gen 4 --csv run.csv --timeline run.json --plan-out plan.json
    leak 0 sweep $toy --task generate --gen 4 --csv sweep.csv --json
    leak 0 limit $toy --task generate --axis batch --csv limit.csv
    leak 1 run $toy --task generate --gen 4 --csv none/run.csv
    ;;
sweep)
    leak 0 sweep $flagship --json
    leak 0 sweep $toy --task train --seq 64,128 --threads 2 --markdown
    leak 2 sweep $toy --task train --sort nothing
    ;;
replay)
    leak 0 replay $server --trace "$src/tests/traces/mooncake.jsonl" --prefix-cache on --kv-host 8GiB --json
    leak 0 replay $server --trace "$src/tests/traces/plain.csv.zst" --ctx 1024 --schedule static --quiet
    leak 2 replay $server --trace "$src/tests/fuzz/libfuzzer/corpus/trace/cut.gz" --ctx 1024
    leak 2 replay $server --trace "$src/tests/fuzz/libfuzzer/corpus/trace/unsorted.csv" --ctx 1024
    leak 0 replay --trace torch-train-step.csv.gz --hw toy --timeline "$tmp/timeline.json"
    leak 0 replay --trace "$src/tests/traces/snapshot_protocol5.pickle" --json
    leak 0 replay --trace sharegpt-lengths.csv --task train $toy --steps 3 --steps-csv "$tmp/steps.csv"
    leak 2 replay --trace "$src/tests/golden/bad-replay-pickle.in/evil.pickle"
    leak 2 replay --trace "$src/tests/golden/bad-replay-event.in/events.csv"
    leak 2 replay --trace nothing.csv
    ;;
limit)
    leak 0 limit $flagship --axis seq
    leak 0 limit $toy --task generate --json
    leak 2 limit $flagship --axis nothing
    ;;
validate)
    # Inference, training, and a row that may fail: three of thousands, for valgrind is slow.
    for format in --quiet --json; do
        leak 0 validate --cases tests/measured/llamacpp.csv tests/measured/training.csv \
            --where 'id=^(lc-xj-0095|lc-xj-0103|qwen-001)$' $format
    done
    leak 2 validate --cases "$tmp/none.csv"
    leak 2 validate --where 'id=('
    ;;
*)
    echo "leak: no command '$command'" >&2
    exit 2
    ;;
esac
echo "leak: $command: none"
