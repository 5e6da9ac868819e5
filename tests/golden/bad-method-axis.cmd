# Contradictions: adapters where everything is trained.
run --hw toy --model toy --engine hf --task train --method full --weights bf16 --lora-rank 8
