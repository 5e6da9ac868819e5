# All options of one command, printed from the tables.
help sweep
