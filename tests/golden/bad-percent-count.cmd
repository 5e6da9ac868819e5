# Four numbers where six are meant.
run --hw t4 --model opt-6.7b --engine flexgen --task generate --percent 100/0/100/0
