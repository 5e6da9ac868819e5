# A block holds at least one token.
run --hw h100 --model llama-3.1-8b --engine vllm --task serve --kv-block 0
