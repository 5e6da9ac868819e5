# Strategies of training, ranked; one device, so ZeRO makes no point of its own.
sweep --hw toy --model toy --engine ideal --task train --method full --seq 256 --loss full,fused --ckpt none,full --optim adamw,adamw8bit --offload-param none --zero 0,3
