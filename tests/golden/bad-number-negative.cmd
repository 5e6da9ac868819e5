# A number behind a dash is a wrong number, not an option.
run --hw rtx4090 --workload chat8b --batch -1
