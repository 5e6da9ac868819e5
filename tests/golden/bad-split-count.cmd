# Three shares for two devices.
run --hw toyx2 --model toy --engine llamacpp --task generate --weights fp16 --prompt 64 --gen 4 --tensor-split 1,2,3
