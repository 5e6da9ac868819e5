# Ranks that attend for requests of their own and share experts.
run --hw h200 --gpus 8 --tp 8 --attn-dp on --model qwen3-235b-a22b --weights fp8 --engine trtllm --task serve --prompt 1000 --gen 500 --rate inf --requests 200
