# Malformed output of a tool.
calibrate --samples f.log --out me.json
