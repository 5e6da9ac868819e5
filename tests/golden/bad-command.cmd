# Unknown names: the three nearest, status 2.
swep --hw rtx4090
