# One training step as JSON.
run --hw toy --model toy --engine hf --task train --method lora --weights bf16 --seq 128 --json
