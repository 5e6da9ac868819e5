# Names only, one a line, as completions read them.
list --names
