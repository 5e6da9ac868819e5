# Accelerate computes nothing on the CPU: the other layers must be streamed.
run --hw t4 --model opt-6.7b --engine hf --task generate --gpu-layers 8
