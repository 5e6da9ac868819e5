# A file that isn't there.
run --hw rtx4090 --workload ./no-such.json
