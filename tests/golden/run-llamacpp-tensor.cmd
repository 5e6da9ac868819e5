# llama.cpp with tensor parallelism: half of each matrix and of the cache on each device.
run --hw toy --gpus 2 --model toy --engine llamacpp --task generate --weights fp16 --gpu-layers all --split tensor --prompt 64 --gen 16
