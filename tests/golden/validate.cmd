# Three cases: one near, one that can't be simulated, one of low trust.
validate --cases ./cases.csv
