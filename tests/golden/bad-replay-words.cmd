# A time that is none.
replay --trace trace.csv --hw h100 --model llama-3.1-8b --engine vllm --slo-ttft soon
