# A word that the axis doesn't have.
run --hw rtx4090 --workload qlora70b --ckpt ful
