# Allowed, and it says that nothing is sharded.
run --hw toy --model toy --engine fsdp --task train --weights bf16 --zero 3
