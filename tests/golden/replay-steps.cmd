# Lengths of samples; the step, micro-step and sample at which memory runs out.
replay --trace steps.csv --task train --hw rtx4090 --model llama-3-8b --method qlora --engine hf
--micro-batch 2 --ckpt full --steps-csv rows.csv
