# What a workload says.
show --workload qlora70b
