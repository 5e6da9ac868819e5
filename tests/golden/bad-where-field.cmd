# A filter on a field that cases don't have.
validate --where metrics=x
