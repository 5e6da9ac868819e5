# A malformed case file.
calibrate --from-cases f.csv --out me.json
