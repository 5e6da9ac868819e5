# PyTorch's own categories at the peak.
replay --trace "$SRC/tests/traces/torch_timeline.raw.json.gz" --hw a100
