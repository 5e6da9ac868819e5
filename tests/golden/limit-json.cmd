# One axis, as JSON.
limit --hw toy --model toy --engine ideal --task generate --weights fp16 --axis batch --ctx 4096 --json
