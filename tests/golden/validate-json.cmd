# The same as JSON, filtered.
validate --cases ./cases.csv --where trust!=low --where 'id=^near$' --json
