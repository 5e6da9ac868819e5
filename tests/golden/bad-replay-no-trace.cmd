# Nothing to replay.
replay --hw h100 --model llama-3.1-8b --engine vllm --ctx 1024
