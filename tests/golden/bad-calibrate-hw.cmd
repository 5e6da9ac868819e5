# A profile whose memory is another.
calibrate --samples f.log --hw a100-80g-sxm --out me.json
