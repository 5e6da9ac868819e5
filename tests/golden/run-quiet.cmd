# The same without a word on standard error.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --prompt 64 --gen 4 --csv a.csv --quiet
