# A rule that has to name a type of tensors.
run --hw rtx4090 --engine words.json --model qwen3-next-80b-a3b --weights q4_k_m --task generate
