# A file that can't be written is status 1.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --csv no/such/folder.csv
