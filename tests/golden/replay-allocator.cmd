# Allocations of a training step on a device of 12 GB: where 11.3 GiB are usable it runs out.
replay --trace torch-train-step.csv.gz --hw rtx3060 --set device.memory.usable=11.3GiB
