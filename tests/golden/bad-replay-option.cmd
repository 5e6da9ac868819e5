# An option of another kind of trace.
replay --trace "$SRC/tests/traces/snapshot_protocol5.pickle" --steps 5
