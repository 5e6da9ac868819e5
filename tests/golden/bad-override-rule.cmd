# A rule without a device.
run --hw toyx2 --model toy --engine llamacpp --task generate --weights fp16 --prompt 64 --gen 4 --override-tensor ffn
