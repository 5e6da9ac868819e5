# No machine.
run --workload qlora70b
