# Steps drawn from a histogram, packed into rows.
replay --trace lengths.csv --task train --hw rtx4090 --model llama-3-8b --method qlora --engine hf
--ckpt full --seq 1024 --packed --accum 4 --steps 6 --seed 5 --json
