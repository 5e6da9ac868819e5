# Unknown metric.
sweep --hw rtx4090 --workload qlora70b --sort train_tsp
