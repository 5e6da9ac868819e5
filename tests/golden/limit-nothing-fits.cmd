# Not even one token: the weights alone are too much.
limit --hw toy --model toy --engine ideal --task generate --weights fp16 --axis ctx --set device.memory.usable=10MB
