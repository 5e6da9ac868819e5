# Latents cached, experts on the CPU.
run --hw rtx4090 --model deepseek-v2-lite --engine ikllama --task generate --weights q8_0 --weights-experts gguf:4.5 --kv q8_0 --mla 3 --attn-buffer 512MiB --experts-cpu all --repack on --prompt 4096 --gen 64 --ctx 16k --ubatch 2048
