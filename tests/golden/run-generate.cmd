# One point of generation on hardware with round numbers.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --prompt 64 --gen 16
