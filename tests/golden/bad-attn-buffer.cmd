# A buffer of nothing.
run --hw a100 --model deepseek-v2-lite --engine ikllama --task generate --weights q4_0 --attn-buffer 0
