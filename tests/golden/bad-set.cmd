# --set without a value.
run --hw rtx4090 --workload qlora70b --set device.memory.bandwidth
