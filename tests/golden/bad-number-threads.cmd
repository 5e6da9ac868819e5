# Threads.
sweep --hw rtx4090 --workload qlora70b --threads -2
