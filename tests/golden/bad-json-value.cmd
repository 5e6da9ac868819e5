# A value out of bounds in a workload: file, line, column, and what was expected.
run --hw rtx4090 --workload ./value.json
