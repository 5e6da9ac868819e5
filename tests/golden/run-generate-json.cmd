# One point of generation as JSON, by hand: 5 x 2 MiB of weights and a cache of 65 to 80 cells of 4 KiB at 100 GB/s.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --prompt 64 --gen 16 --json
