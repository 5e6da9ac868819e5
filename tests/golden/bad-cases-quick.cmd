# Cases are measured already.
calibrate --from-cases f.csv --quick
