# A grid: one document for each point, in an array.
limit --hw toy --model toy --engine ideal --task generate --weights fp16,fp32 --axis batch --ctx 4096 --json
