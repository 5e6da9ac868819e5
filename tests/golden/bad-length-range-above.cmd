# Lengths above nominal.
run --hw h100 --model llama-3.1-8b --engine vllm --task serve --concurrency 4 --length-range 1.5
