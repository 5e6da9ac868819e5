# A backend of another vendor.
run --hw rtx4090 --workload chat8b --backend hip
