# Formats that a trace may have.
list traces
