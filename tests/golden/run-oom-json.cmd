# The cache does not fit beside the weights: 4 x 2,684,354,560 bytes in 10 GiB.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --ctx 4096 --batch 640 --json
