# Weights in managed memory: 8.03 B parameters in fp16 on 12 GB, pages that migrate at each step.
run --hw rtx3060-12g --model llama-3-8b --engine llamacpp --task generate --weights fp16 --offload uvm --prompt 64 --gen 16
