# The workload gives the task, and so what is searched.
limit --hw rtx3060 --workload lora8b --engine hf
