# A flag with a value.
run --hw rtx4090 --workload qlora70b --json=yes
