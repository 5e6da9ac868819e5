# Neither workload nor model.
run --hw rtx4090 --task train --engine hf
