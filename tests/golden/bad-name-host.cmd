# Unknown host.
run --hw rtx4090 --workload qlora70b --host desktop-65g
