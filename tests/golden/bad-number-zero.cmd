# Absurd numbers: what was found, what was expected.
run --hw rtx4090 --workload qlora70b --seq 0
