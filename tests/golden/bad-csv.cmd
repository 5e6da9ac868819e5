# A case file whose quotes never close.
validate --cases ./open.csv
