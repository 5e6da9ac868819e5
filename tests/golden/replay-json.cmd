# Prompts that begin alike share blocks.
replay --trace trace.jsonl --hw h100 --model llama-3.1-8b --engine vllm --engine-version 0.12.0 --prefix-cache on --ctx 131072 --json
