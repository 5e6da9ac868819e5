# A file that isn't there.
run --hw ./no-such.json --workload qlora70b
