# Parameters cannot live on storage that the machine lacks.
run --hw a100-80g-sxm --storage none --model llama-3-8b --engine deepspeed --task train --zero 3 --offload-optim nvme
