# What the engine can't do.
run --hw rtx4090 --workload qlora70b --engine llamacpp
