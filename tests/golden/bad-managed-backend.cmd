# Managed memory is CUDA's.
run --hw rtx4090 --model llama-3-8b --engine llamacpp --task generate --weights q4_0 --offload uvm --backend vulkan
