# A model whose layers are not modelled yet.
run --hw rtx4090 --model deepseek-v3 --task generate --weights fp16 --engine hf
