#!/bin/sh
# The same input gives the same bytes: over runs and thread counts (`runs PROGRAM`), and between gcc and clang
# (`compilers PROGRAM COMPILER`: builds with the other one, tests too, warnings being errors; exit status 77 = it is
# not installed).

set -u
LC_ALL=C
export LC_ALL

src=$(cd "$(dirname "$0")/.." && pwd) || exit 1
mode=${1:?usage: determinism.sh runs|compilers PROGRAM [COMPILER]}
program=${2:?usage: determinism.sh runs|compilers PROGRAM [COMPILER]}
flagship='--hw rtx4090 --workload qlora70b'
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

# produce FILE PROGRAM WORDS...
produce() {
    file=$1
    shift
    if ! "$@" > "$file" 2> "$tmp/err"; then
        echo "determinism: '$*' failed:"
        cat "$tmp/err"
        exit 1
    fi
    if [ ! -s "$file" ]; then
        echo "determinism: '$*' printed nothing"
        exit 1
    fi
}

same() {
    if ! cmp "$1" "$2"; then
        echo "determinism: $3: the output differs"
        diff "$1" "$2" | head -n 10
        failed=1
    fi
}

runs() {
    # $flagship is several words on purpose.
    # shellcheck disable=SC2086
    produce "$tmp/first" "$program" run $flagship --json
    run=2
    while [ "$run" -le 20 ]; do
        # shellcheck disable=SC2086
        produce "$tmp/again" "$program" run $flagship --json --threads $((run % 2 + 1))
        same "$tmp/first" "$tmp/again" "run $run of 20"
        run=$((run + 1))
    done
    # shellcheck disable=SC2086
    produce "$tmp/one" "$program" sweep $flagship --json --threads 1
    for threads in 2 3; do
        # shellcheck disable=SC2086
        produce "$tmp/more" "$program" sweep $flagship --json --threads $threads
        same "$tmp/one" "$tmp/more" "sweep with $threads threads"
    done
}

compilers() {
    case ${1:-GNU} in
    GNU) other=clang ;;
    *) other=gcc ;;
    esac
    if ! command -v $other > /dev/null; then
        echo "determinism: $other is not installed: skipped"
        exit 77
    fi
    build=$src/build/det-$other
    {
        cmake -S "$src" -B "$build" -DCMAKE_C_COMPILER=$other -DCMAKE_BUILD_TYPE=Release \
            -DVRAMSIM_TESTS=ON -DVRAMSIM_WERROR=ON -DVRAMSIM_CUDA=OFF &&
            cmake --build "$build" --parallel 2
    } > "$tmp/log" 2>&1 || {
        tail -n 40 "$tmp/log"
        echo "determinism: the $other build failed"
        exit 1
    }
    while read -r words; do
        # shellcheck disable=SC2086
        produce "$tmp/ours" "$program" $words
        for threads in 1 2; do
            # shellcheck disable=SC2086
            produce "$tmp/theirs" "$build/vramsim" $words --threads $threads
            same "$tmp/ours" "$tmp/theirs" "'$words' built by $other, $threads threads"
        done
    done <<END
run $flagship --json
sweep $flagship --json
limit $flagship --json
run --hw rtx4090 --model llama-3-8b --engine llamacpp --weights q4_k_m --task generate --prompt 512 --gen 128 --json
run --hw a100 --model llama-2-7b --engine hf --task train --method lora --json
END
}

case $mode in
runs) runs ;;
compilers) compilers "${3:-}" ;;
*)
    echo "determinism: unknown mode '$mode'" >&2
    exit 2
    ;;
esac
[ "$failed" -eq 0 ] && echo "determinism: $mode: the same bytes"
exit "$failed"
