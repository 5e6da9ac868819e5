# Comma lists span a grid.
sweep --hw toy --model toy --engine ideal --task generate --weights fp16,q8_0 --kv fp16 --offload none --batch 1,2 --prompt 64 --gen 16
