# The second row has no number.
replay --trace events.csv
