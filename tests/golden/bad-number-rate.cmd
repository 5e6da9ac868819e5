# A rate without 'per second'.
run --hw rtx4090 --workload qlora70b --net 50GB
