# Programs also get the label, how the capacity is known, and the default machine.
list hw --vendor qualcomm --json
