# Words joined by '+'.
run --hw rtx4090 --workload qlora70b --lora-targets q+w
