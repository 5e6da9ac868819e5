# Three of four layers on the first device: shares of the pipeline.
run --hw toyx2 --model toy --engine llamacpp --task generate --weights fp16 --prompt 64 --gen 4 --tensor-split 3,1
