# A word whose number makes no sense.
run --hw rtx4090 --workload qlora70b --ckpt every:0
