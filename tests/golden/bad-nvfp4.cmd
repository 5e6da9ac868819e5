# 4-bit products on a device without them
run --hw h100 --model llama-3-8b --engine megatron --task train --precision mixed-nvfp4
