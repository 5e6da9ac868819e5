# A batch where requests make the batches.
run --hw h100 --model llama-3.1-8b --engine vllm --task serve --concurrency 4 --batch 8
