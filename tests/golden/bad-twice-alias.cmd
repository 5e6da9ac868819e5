# An option and its alias.
run --hw rtx4090 --workload chat8b -ngl 10 --gpu-layers 20
