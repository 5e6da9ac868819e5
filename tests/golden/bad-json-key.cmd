# An unknown key: the nearest that is known.
run --hw rtx4090 --workload ./key.json
