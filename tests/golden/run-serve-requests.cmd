# A closed loop of clients.
run --hw h100 --gpus 2 --tp 2 --model llama-3.3-70b --weights fp8 --engine vllm --engine-version 0.11.0 --task serve --prompt 1024 --gen 256 --concurrency 32 --length-range 0.8
