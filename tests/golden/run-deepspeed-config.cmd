# DeepSpeed's own file: 16 samples are 2 x accumulation 4 x 2 devices; the optimizer lives in page-locked RAM.
run --hw a100-80g-sxm --gpus 2 --model llama-3-8b --task train --seq 2048 --ckpt full --config ./ds.json
