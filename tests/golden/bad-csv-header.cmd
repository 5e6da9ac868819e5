# A named case file with another header.
validate --cases ./other.csv
