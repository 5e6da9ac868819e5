# A server without requests.
run --hw h100 --model llama-3.1-8b --engine vllm --task serve --requests 0
