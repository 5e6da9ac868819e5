# Malformed output of a tool.
calibrate --samples f.txt --out me.json
