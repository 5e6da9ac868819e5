# The plan of one generated token behind a short prompt, as a file.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --prompt 0 --depth 16 --gen 1 --plan-out plan.json
