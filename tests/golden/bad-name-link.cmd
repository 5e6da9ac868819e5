# Unknown link.
run --hw rtx4090 --workload qlora70b --link pcie9x16
