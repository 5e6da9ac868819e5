# A word that belongs to nothing.
run rtx4090 --workload qlora70b
