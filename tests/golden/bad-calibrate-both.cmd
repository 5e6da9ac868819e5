# Two ways of measuring at once.
calibrate --quick --full
