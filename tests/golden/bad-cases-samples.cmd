# Two ways to come by numbers.
calibrate --from-cases f.csv --samples g.json
