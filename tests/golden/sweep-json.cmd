# A grid as JSON: ranks, labels, null ranks for what does not fit.
sweep --hw toy --model toy --engine ideal --task generate --kv fp16 --offload none --prompt 64 --gen 16 --weights fp16,q8_0 --set device.memory.usable=9MB --json
