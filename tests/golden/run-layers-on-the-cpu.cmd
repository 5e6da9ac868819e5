# Two layers on the CPU: what lies in each memory.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --offload cpu --gpu-layers 2 --prompt 96 --gen 32
