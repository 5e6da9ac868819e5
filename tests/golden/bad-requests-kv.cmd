# Requests come and go in blocks of a pool, or in pieces of it.
run --hw h100 --model llama-3.1-8b --engine trtllm --task serve --concurrency 4 --kv-alloc dynamic
