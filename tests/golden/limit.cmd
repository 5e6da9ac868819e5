# Where a training run stops fitting.
limit --hw toy --model toy --engine hf --task train --method full --precision bf16 --weights bf16
