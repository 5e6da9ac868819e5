# A folder that is not there.
calibrate --folder /nowhere/at/all
