# Apple MLX: embeddings and head are quantized too, and the cache grows by 256 cells.
run --hw m3-max --model llama-3.1-8b --engine mlx --task generate --weights mlx4 --prompt 1000 --gen 200
