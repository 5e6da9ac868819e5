# The trace of replay-files, an hour and a quarter of a second later: a replay begins with its first request, so
# requests and series are told by the same clock, and are those of replay-files.
replay --trace trace.csv --hw h100 --model toy --engine vllm --ctx 1024 --requests-csv requests.csv --series-csv series.csv --every 200ms
