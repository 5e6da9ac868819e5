# The same help, asked for the other way.
run --help
