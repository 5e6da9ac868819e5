# Both axes that could be searched are given.
limit --hw toy --model toy --engine ideal --task train --seq 64 --micro-batch 2
