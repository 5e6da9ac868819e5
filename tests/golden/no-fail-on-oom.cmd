# The same without the option: a predicted lack of memory is a result.
run --hw toy --model llama-3-8b --engine ideal --task generate --weights fp16 --json
