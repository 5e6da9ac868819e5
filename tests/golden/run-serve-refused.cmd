# A context that an engine refuses at its start.
run --hw h100 --model llama-3.3-70b --weights fp8 --engine vllm --task serve --ctx 16000 --json
