# A workload that comes later.
run --hw rtx4090 --workload ./later.json
