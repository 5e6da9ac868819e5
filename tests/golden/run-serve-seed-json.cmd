# --seed reaches what is drawn: other arrivals than with the default.
run --hw h100 --model llama-3.1-8b --weights bf16 --engine sglang --task serve --prompt 512 --gen 64 --rate 8 --requests 50 --seed 8 --json
