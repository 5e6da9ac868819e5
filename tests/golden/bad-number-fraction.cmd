# A fraction that is none.
run --hw rtx4090 --workload qlora70b --lora-dropout nan
