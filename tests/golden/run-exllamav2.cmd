# EXL2 weights of 4 bits.
run --hw rtx4090 --model llama-2-7b --engine exllamav2 --task generate --weights exl2:4 --prompt 512 --gen 128 --ctx 4k
