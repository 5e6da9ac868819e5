# A model says nothing to allocations.
replay --trace "$SRC/tests/traces/snapshot_protocol5.pickle" --model llama-3-8b
