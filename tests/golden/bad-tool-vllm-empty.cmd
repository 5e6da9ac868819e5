# A log of vLLM that says nothing of a device.
calibrate --samples f.log --out me.json
