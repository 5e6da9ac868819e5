# Requests come and go in a paged cache alone.
run --hw h100 --model llama-3.1-8b --engine trtllm --task serve --concurrency 4 --kv-alloc contiguous
