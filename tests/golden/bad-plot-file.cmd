# A file of another kind.
plot other.csv
