# A share that is no number.
run --hw toyx2 --model toy --engine llamacpp --task generate --weights fp16 --prompt 64 --gen 4 --tensor-split 1,x
