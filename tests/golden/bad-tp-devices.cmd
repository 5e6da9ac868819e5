# A group of two on one device.
run --hw h100 --model llama-3.1-8b --engine vllm --task generate --tp 2
