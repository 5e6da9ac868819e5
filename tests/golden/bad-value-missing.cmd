# An option without its value.
run --hw rtx4090 --workload qlora70b --seq --json
