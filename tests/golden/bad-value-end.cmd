# The same at the end of the line.
run --hw rtx4090 --workload
