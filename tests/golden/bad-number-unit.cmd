# A size in a unit that is none.
run --hw rtx4090 --workload qlora70b --ram 12parsecs
