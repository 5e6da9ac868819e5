# Tensor parallelism deals heads out whole.
run --hw h100 --gpus 3 --model llama-3.1-8b --engine vllm --task generate --tp 3
