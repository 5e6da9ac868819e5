# Unknown model.
run --hw rtx4090 --workload qlora70b --model llama-3-71b
