# What plot reads and draws.
help plot
