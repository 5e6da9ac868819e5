# A log of vLLM seldom names the device.
calibrate --samples f.log --out me.json
