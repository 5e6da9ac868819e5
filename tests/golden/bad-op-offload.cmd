# Neither a word nor a number of tokens.
run --hw a100 --model deepseek-v2-lite --engine ikllama --task generate --weights q4_0 --op-offload maybe
