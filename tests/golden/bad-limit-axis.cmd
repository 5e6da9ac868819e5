# An axis that can't be searched.
limit --hw rtx4090 --workload qlora8b --axis ckpt
