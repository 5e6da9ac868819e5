# Rows of each matrix over all devices.
run --hw rtx4090x2 --model llama-3-8b --engine llamacpp --task generate --weights q4_0 --offload uvm --split row
