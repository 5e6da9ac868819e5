# Layers streamed over the toy's link: copies of 209.8 us bound each token.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --offload stream --prompt 64 --gen 1
