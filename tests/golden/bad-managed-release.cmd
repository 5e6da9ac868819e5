# Before August 2024.
run --hw rtx4090 --model llama-3-8b --engine llamacpp --engine-version b2824 --task generate --weights q4_0 --offload uvm
