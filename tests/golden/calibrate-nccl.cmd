# The table of NVIDIA/nccl-tests (its README.md and doc/PERFORMANCE.md), written by hand.
calibrate --samples nccl-tests.txt
