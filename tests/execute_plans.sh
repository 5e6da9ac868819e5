#!/bin/sh
# An executor of plans: without its device one line and status 1; with it, decoding with resident layers, layers
# streamed with prefetch, and a training step with checkpointing and the optimizer in RAM are carried out, with memory and
# the order of what ran. Speeds are not looked at.
#     execute_plans.sh VRAMSIM EXECUTE
set -eu
vramsim=$1 execute=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "execute_plans: $*" >&2; exit 1; }

# carry_out NAME WORDS...: its plan on the first device.
carry_out() {
    name=$1
    shift
    "$vramsim" run --hw rtx4090 "$@" --plan-out "$folder/plan.json" > /dev/null 2>&1 || fail "$name: no plan"
    status=0
    "$execute" --rounds 2 --spans "$folder/plan.json" > "$folder/$name.json" 2> "$folder/said" || status=$?
    [ "$status" -ne 1 ] || return 1
    [ "$status" -eq 0 ] || fail "$name: status $status: $(cat "$folder/said")"
    grep -q '"oom":null' "$folder/$name.json" || fail "$name ran out"
    grep -q '"spans":\[{' "$folder/$name.json" || fail "$name: no spans"
}

if "$execute" --wrong plan.json 2> /dev/null; then fail "took --wrong"; fi
if ! carry_out decode --model gpt2 --engine ideal --task generate --weights fp16 --prompt 64 --gen 4; then
    [ "$(wc -l < "$folder/said")" -eq 1 ] || fail "said: $(cat "$folder/said")"
    [ ! -s "$folder/decode.json" ] || fail "wrote what was executed on nothing"
    exit 0
fi
carry_out stream --model gpt2 --engine ideal --task generate --weights fp16 --prompt 64 --gen 4 --offload stream
grep -q '"lane":"h2d"' "$folder/stream.json" || fail "nothing was copied"
carry_out train --model gpt2 --engine deepspeed --task train --method full --seq 64 --ckpt full --zero 2 \
    --offload-optim cpu
grep -q '"lane":"cpu"' "$folder/train.json" || fail "no optimizer on the processor"
