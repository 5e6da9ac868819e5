# A wrong type.
run --hw rtx4090 --workload ./type.json
