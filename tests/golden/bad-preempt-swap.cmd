# vLLM V1 has no swapping; the message names the release.
run --hw rtx4090 --model llama-3.1-8b --engine vllm --task serve --requests 10 --rate 1 --prompt 64 --gen 64 --preempt swap
