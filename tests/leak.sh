#!/bin/sh
# Runs one command under valgrind: no leak, no invalid access. Exit status 77 = there is no valgrind.
#
#     tests/leak.sh PROGRAM list|show|run|sweep|limit|validate

set -u
program=${1:?usage: leak.sh PROGRAM COMMAND}
command=${2:?usage: leak.sh PROGRAM COMMAND}
if ! command -v valgrind > /dev/null; then
    echo "leak: valgrind is not installed: skipped"
    exit 77
fi
cd "$(dirname "$0")/.." || exit 1
flagship='--hw rtx4090 --workload qlora70b'

# leak STATUS WORDS...: runs vramsim WORDS, which must end with that status.
leak() {
    wanted=$1
    shift
    echo "leak: vramsim $*"
    valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=all \
        --errors-for-leak-kinds=all "$program" "$@" > /dev/null
    status=$?
    if [ "$status" -ne "$wanted" ]; then
        echo "leak: vramsim $*: status $status, expected $wanted"
        exit 1
    fi
}

# $flagship is several words on purpose.
# shellcheck disable=SC2086
case $command in
list)
    leak 0 list
    leak 0 list hw
    ;;
show)
    leak 0 show --hw rtx4090
    leak 0 show --model llama-3-70b
    leak 2 show --hw rtx9999
    ;;
run)
    leak 0 run $flagship
    leak 0 run $flagship --json
    leak 2 run $flagship --seq 0
    ;;
sweep) leak 0 sweep $flagship --json ;;
limit) leak 0 limit $flagship --axis seq ;;
validate)
    # Inference, training, and a row that may fail: three of thousands, for valgrind is slow.
    leak 0 validate --cases tests/measured/llamacpp.csv tests/measured/training.csv \
        --where 'id=^(lc-xj-0095|lc-xj-0103|qwen-001)$'
    ;;
*)
    echo "leak: no command '$command'" >&2
    exit 2
    ;;
esac
echo "leak: $command: none"
