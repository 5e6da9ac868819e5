# Training only.
run --hw a100-80g-sxm --model llama-3-8b --task generate --config ./ds.json
