# One memory: no pages migrate.
run --hw m2-ultra-76c --ram 192GiB --model llama-3-8b --engine llamacpp --task generate --weights q4_0 --offload uvm
