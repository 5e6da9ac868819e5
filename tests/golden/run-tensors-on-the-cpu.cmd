# Tensors by name: three of four MLPs on the CPU, the others' down matrices on the second device.
run --hw toyx2 --model toy --engine llamacpp --task generate --weights fp16 --prompt 64 --gen 4 --override-tensor 'blk.[0-2].ffn_=CPU,ffn_down=CUDA1'
