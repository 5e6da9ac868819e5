# Out of memory where the engine deals out tokens over tensor ranks by itself: lengths that are tried stay its multiples
run --hw h100-sxm --gpus 16 --model llama-3-70b --engine megatron --task train --seq 8192 --micro-batch 4 --accum 8 --tp 8 --cp 2
