# Latent attention and a mixture of experts, dealt out over 32 ranks, in a pipeline, in 8 bit
run --hw gb200 --gpus 256 --model deepseek-v3 --engine megatron --task train --weights bf16 --precision mixed-mxfp8 --optim adamw --seq 4096 --accum 128 --zero 1 --pp 8 --pp-interleave 4 --ep 32
