# Unknown option.
run --hw rtx4090 --sqe 1
