# Steps whose micro-steps differ in length do not go through a pipeline.
replay --trace steps.csv --task train --hw a100-80g-sxm --gpus 4 --model llama-3-8b --engine megatron
--tp 2 --pp 2 --accum 4
