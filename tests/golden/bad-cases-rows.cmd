# No case that a number can be fitted to.
calibrate --from-cases f.csv --out me.json
