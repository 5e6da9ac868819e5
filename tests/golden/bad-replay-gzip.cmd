# A compressed trace that was cut.
replay --trace trace.csv --hw h100 --model llama-3.1-8b --engine vllm --ctx 1024
