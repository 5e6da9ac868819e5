# The block schedule of another engine.
run --hw t4 --model opt-6.7b --engine hf --task generate --percent 0/100/100/0/100/0
