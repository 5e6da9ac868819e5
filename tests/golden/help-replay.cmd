# All options of one command that replays.
help replay
