# Case files that aren't there.
validate --cases ./no-such.csv
