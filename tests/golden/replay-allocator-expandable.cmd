# The same with expandable segments: it fits.
replay --trace torch-train-step.csv.gz --hw rtx3060 --set device.memory.usable=11.3GiB --expandable-segments on
