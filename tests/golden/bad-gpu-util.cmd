# A share above the whole.
run --hw h100 --model llama-3.1-8b --engine vllm --task serve --gpu-util 1.5
