# What ran when, with memory levels, as a Chrome trace.
run --hw toy --model toy --engine ideal --task generate --weights fp16 --prompt 64 --gen 4 --offload stream --timeline trace.json
