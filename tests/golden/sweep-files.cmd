# CSV and Markdown hold all points.
sweep --hw toy --model toy --engine hf --task train --method lora --seq 128 --loss full,fused --ckpt none,full --offload none --csv a.csv --markdown --quiet
