# Contradictions: an option twice.
run --hw rtx4090 --workload qlora70b --seq 1k --seq 2k
