# No words at all: the short help, status 0.

