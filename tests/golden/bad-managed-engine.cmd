# PyTorch allocates no managed memory.
run --hw rtx4090 --model llama-3-8b --engine hf --task generate --weights fp16 --offload uvm
