# Bad input leaves no file behind, whatever was asked for.
run --hw rtx4090 --workload qlora70b --seq 0 --csv a.csv --timeline b.json --plan-out c.json
