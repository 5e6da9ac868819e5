# Every file that it can write: rows, predictions, the error table.
validate --cases ./cases.csv --write-predicted p.csv --write-accuracy a.json --top 1 --quiet
