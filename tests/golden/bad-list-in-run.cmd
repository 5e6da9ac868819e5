# A list where one point is wanted.
run --hw rtx4090 --workload qlora70b --seq 1k,2k
