# A key that DeepSpeed does not have.
run --hw a100-80g-sxm --gpus 2 --model llama-3-8b --task train --config ./ds.json
