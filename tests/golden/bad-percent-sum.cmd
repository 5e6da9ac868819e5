# Weights of more than one whole.
run --hw t4 --model opt-6.7b --engine flexgen --task generate --percent 60/50/100/0/100/0
