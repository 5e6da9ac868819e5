# Memory does not end the search.
limit --hw toy --model toy --engine ideal --task generate --weights fp16 --axis ctx --set device.memory.usable=100GB
