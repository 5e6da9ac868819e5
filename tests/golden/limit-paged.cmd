# A paged cache: sequences that run at once, not those that come in waves.
limit --hw h100 --model llama-3.1-8b --engine vllm --task serve --weights bf16 --ctx 8192 --axis batch
