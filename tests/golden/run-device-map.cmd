# Layers on two devices that work in turn
run --hw a100 --gpus 2 --model qwen-72b --engine hf --task train --method lora --lora-targets qkv --precision bf16 --seq 2048 --accum 16 --attn flash --ckpt full --split layer
