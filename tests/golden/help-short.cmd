# -h anywhere in the line is help, however wrong the rest.
run --seq 0 -h
