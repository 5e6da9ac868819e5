# Unknown engine.
run --hw rtx4090 --workload chat8b --engine llamacppp
