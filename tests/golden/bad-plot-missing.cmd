# No such file.
plot nothing.json
