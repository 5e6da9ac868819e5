# A key that stands twice.
run --hw rtx4090 --workload ./twice.json
