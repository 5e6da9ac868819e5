# Unknown weight format.
run --hw rtx4090 --workload chat8b --engine llamacpp --weights q4_k_x
