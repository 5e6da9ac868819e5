# One memory for CPU and GPU: weights mapped from storage are not modelled there.
run --hw m2-ultra --model toy --engine llamacpp --task generate --weights fp16 --gpu-layers 0 --offload disk
