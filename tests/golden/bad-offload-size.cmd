# Bytes leave the GPU to come back over the link: the CPU computes none of them.
run --hw rtx4090 --model llama-3.1-8b --engine vllm --task serve --offload none --offload-size 4GiB
