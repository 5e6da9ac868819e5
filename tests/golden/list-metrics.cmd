# A table of the program, no data file behind it.
list metrics
