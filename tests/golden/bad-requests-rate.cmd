# Clients that wait for answers, and arrivals that do not.
run --hw h100 --model llama-3.1-8b --engine vllm --task serve --concurrency 4 --rate 5
