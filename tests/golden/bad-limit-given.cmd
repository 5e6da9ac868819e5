# Contradictions: the axis to be searched is given.
limit --hw rtx4090 --workload qlora8b --axis seq --seq 2048
