# Five of six layers keep a window and a ubatch only: the longest context is that of the others.
limit --hw rtx4090 --model gemma-3-12b --engine llamacpp --task generate --weights q4_k_m --axis ctx
