# Files beside the output; what is said about them goes to standard error.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --prompt 64 --gen 4 --csv a.csv --markdown
