# --set of a number that isn't there.
run --hw rtx4090 --workload qlora70b --set device.memory.bandwith=900GB/s
