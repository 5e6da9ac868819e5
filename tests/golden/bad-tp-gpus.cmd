# Devices that the ranks of one copy do not divide
run --hw a100 --gpus 12 --model llama-3-8b --engine megatron --task train --tp 8
