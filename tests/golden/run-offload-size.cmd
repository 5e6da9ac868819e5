# Layers that left the GPU come over the link when they run.
run --hw rtx4090 --model llama-3.1-8b --engine vllm --task serve --weights bf16 --ctx 4096 --prompt 512 --gen 64 --concurrency 4 --offload-size 4GiB
