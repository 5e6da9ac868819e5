# A mode that doesn't exist.
run --hw a100 --model deepseek-v2-lite --engine ikllama --task generate --weights q4_0 --mla 4
