# Own measurements, by hand: the device at nine tenths of what is predicted, the host above it, one row far off, and rows
# that say nothing.
calibrate --from-cases mine.csv --out me.json
