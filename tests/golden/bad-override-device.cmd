# A device that isn't there.
run --hw toyx2 --model toy --engine llamacpp --task generate --weights fp16 --prompt 64 --gen 4 --override-tensor ffn=CUDA2
