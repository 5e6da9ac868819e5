# Kernels of this device cannot wait for pages.
run --hw rx7900xtx --model llama-3-8b --engine llamacpp --task generate --weights q4_0 --offload uvm
