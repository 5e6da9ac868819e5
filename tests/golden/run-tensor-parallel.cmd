# Two GPUs share each layer.
run --hw h100 --gpus 2 --split tensor --model llama-3.1-8b --weights bf16 --engine vllm --task generate --batch 8
