# Weights cannot be mapped from a file on storage that the machine lacks.
run --hw rtx4090 --workload chat8b --offload disk --storage none --engine llamacpp
