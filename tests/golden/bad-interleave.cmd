# Interleaved stages run micro-batches in rounds
run --hw a100 --gpus 8 --model llama-3-8b --engine megatron --task train --pp 4 --pp-interleave 2 --accum 6
