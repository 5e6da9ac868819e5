# A log of two ranks of an older release, which names the device in a table that it did not find: the lesser memory
# of both counts, and no context is made of what ranks take for each other.
calibrate --samples v0.log
