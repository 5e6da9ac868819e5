# A public trace, with what is promised to its clients.
replay --trace trace.csv --hw h100 --model llama-3.1-8b --engine vllm --engine-version 0.12.0 --ctx 8192 --slo-ttft 80ms --slo-tpot 8ms
