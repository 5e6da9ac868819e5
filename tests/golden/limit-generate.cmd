# Context and batch of a resident model: 2,618,366 cells of 4 KiB beside 12,587,520 bytes; and sequences of 640 cells.
limit --hw toy --model toy --engine ideal --task generate --weights fp16
