# Modes of latent attention are ik_llama.cpp's.
run --hw a100 --model deepseek-v2-lite --engine llamacpp --task generate --weights q4_0 --mla 1
