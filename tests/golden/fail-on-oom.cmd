# 8 billion parameters of two bytes on a card of 10 GiB: status 3, because the script wants to know.
run --hw toy --model llama-3-8b --engine ideal --task generate --weights fp16 --fail-on-oom
