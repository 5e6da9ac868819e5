# One sample over eight devices, keys and values by ring
run --hw a100 --gpus 8 --model llama-2-7b --engine deepspeed --task train --precision mixed-bf16 --seq 64k --attn flash --ckpt full --zero 3 --offload-optim cpu --offload-param cpu --cp 8
