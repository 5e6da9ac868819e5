# Lengths alone, sent by two clients; a batch at a time.
replay --trace lengths.csv --concurrency 2 --hw h100 --model llama-3.1-8b --engine vllm --ctx 1024 --schedule static
