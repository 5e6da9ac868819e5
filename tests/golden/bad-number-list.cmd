# One wrong value in a list.
sweep --hw rtx4090 --workload qlora70b --seq 1k,0
