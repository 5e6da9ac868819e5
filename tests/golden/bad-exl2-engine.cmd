# EXL2 weights are ExLlamaV2's.
run --hw rtx4090 --model llama-2-7b --engine ikllama --task generate --weights exl2:4
