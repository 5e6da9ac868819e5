# Unknown workload.
--hw rtx4090 --workload qlora71b
