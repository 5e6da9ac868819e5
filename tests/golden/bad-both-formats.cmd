# Contradictions: two formats at once.
run --hw rtx4090 --workload qlora70b --json --markdown
