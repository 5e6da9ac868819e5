# More layers than the model has mean all.
run --hw toy --model toy --engine llamacpp --task generate --weights q8_0 --gpu-layers 99
