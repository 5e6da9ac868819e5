# Broken JSON: line and column.
run --hw rtx4090 --workload ./broken.json
