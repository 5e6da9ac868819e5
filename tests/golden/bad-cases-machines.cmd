# Cases of two machines are no profile of one.
calibrate --from-cases f.csv --out me.json
