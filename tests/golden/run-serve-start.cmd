# What a server holds when it has started.
run --hw h100 --gpus 2 --tp 2 --model llama-3.3-70b --weights fp8 --engine vllm --engine-version 0.11.0 --task serve --ctx 16000
