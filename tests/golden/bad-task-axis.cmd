# An axis of another task.
run --hw rtx4090 --workload qlora70b --gen 5
