# A log of vLLM 0.11 with VLLM_LOGGING_LEVEL=DEBUG, written by hand with round numbers after the messages of
# vllm-project/vllm v1/worker/gpu_worker.py: 23.5 GiB shown, 0.5 of them gone at the start, 0.25 more beside tensors.
calibrate --samples vllm.log --hw rtx4090 --out me.json
