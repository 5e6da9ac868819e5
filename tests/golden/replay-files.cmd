# A row per request, a row per interval, and a timeline.
replay --trace trace.csv --hw h100 --model toy --engine vllm --ctx 1024 --requests-csv requests.csv --series-csv series.csv --every 200ms --timeline timeline.json
