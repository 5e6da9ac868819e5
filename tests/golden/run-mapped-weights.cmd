# Weights mapped from their file, more than RAM holds: what the CPU needs of them is read again for each token.
run --hw toy --model toy --engine llamacpp --task generate --weights fp16 --gpu-layers 1 --offload disk --prompt 16 --gen 16 --set host.ram=8MiB
