# A snapshot without a device: no ceiling.
replay --trace "$SRC/tests/traces/snapshot_protocol5.pickle" --json
