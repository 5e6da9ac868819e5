# A value that stands twice in a list.
sweep --hw rtx4090 --workload qlora70b --seq 1k,1024
