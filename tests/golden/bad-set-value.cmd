# --set with a wrong unit.
run --hw rtx4090 --workload qlora70b --set device.memory.bandwidth=900GB
