# Bad rows are counted, and so are requests that are too long.
replay --trace trace.csv --skip-bad --hw h100 --model llama-3.1-8b --engine vllm --ctx 4096
