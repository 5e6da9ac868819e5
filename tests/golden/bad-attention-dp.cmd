# Without experts there is nothing that ranks would share.
run --hw h200 --gpus 2 --tp 2 --attn-dp on --model llama-3.1-8b --weights fp8 --engine trtllm --task serve
