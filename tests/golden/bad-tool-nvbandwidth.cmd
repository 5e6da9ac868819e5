# Malformed output of a tool.
calibrate --samples f.json --out me.json
