# The batch is not micro-batch x accumulation x ranks.
run --hw a100-80g-sxm --gpus 2 --model llama-3-8b --task train --config ./ds.json
