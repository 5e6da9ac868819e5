# Of no tool that is known.
calibrate --samples f.txt --out me.json
