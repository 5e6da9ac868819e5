# Unknown device.
run --hw rtx4900 --workload qlora70b
