# Tensor, sequence and pipeline parallelism, interleaved, with selective recomputation
run --hw a100-80g-sxm --gpus 64 --model gpt3-175b --engine megatron --task train --precision mixed-fp16 --optim adamw --tp 8 --pp 8 --seq 2048 --accum 64 --ckpt selective --attn naive --seq-parallel on --pp-interleave 3
