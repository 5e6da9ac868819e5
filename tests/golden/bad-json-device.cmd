# Broken JSON in a device.
run --hw ./broken.json --workload qlora70b
