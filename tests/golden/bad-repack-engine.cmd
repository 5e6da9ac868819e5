# Only ik_llama.cpp repacks on request.
run --hw a100 --model llama-2-7b --engine exllamav2 --task generate --weights exl2:4 --repack on
