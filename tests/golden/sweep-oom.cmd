# What fits by speed, then what does not, with where it runs out.
sweep --hw toy --model toy --engine ideal --task generate --kv fp16 --offload none,stream --prompt 64 --gen 16 --weights fp16,q8_0 --batch 1 --set device.memory.usable=9MB
