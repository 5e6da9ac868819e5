# Ten digits of tokens; the files that were begun are gone.
replay --trace trace.csv --hw h100 --model llama-3.1-8b --engine vllm --ctx 1024 --requests-csv requests.csv --series-csv series.csv
