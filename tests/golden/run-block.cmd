# A block of GPU batches shares each load of weights; attention on the CPU.
run --hw toy --model toy --engine flexgen --task generate --prompt 64 --gen 16 --batch 8 --gpu-batches 2 --percent 50/50/0/100/100/0 --attn-place cpu
