# What tools print, in one profile. Their files are written by hand, with round numbers, after the formats that the
# tools document: llama.cpp tools/llama-bench/README.md, NVIDIA/nvbandwidth json_output.cpp, fio's "JSON output".
calibrate --samples llama-bench.json,nvbandwidth.json,fio.json --out me.json
