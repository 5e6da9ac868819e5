# Ranks that do not divide the experts
run --hw h100 --gpus 6 --model qwen3-30b-a3b --engine megatron --task train --ep 3
