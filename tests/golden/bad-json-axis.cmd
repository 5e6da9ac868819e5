# An unknown axis in a workload.
run --hw rtx4090 --workload ./axis.json
