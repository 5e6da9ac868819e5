# Rows.
sweep --hw rtx4090 --workload qlora70b --top 0
