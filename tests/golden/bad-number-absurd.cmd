# More tokens than any model has.
run --hw rtx4090 --workload chat8b --ctx 1e30
