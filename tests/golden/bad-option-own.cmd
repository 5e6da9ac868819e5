# Unknown option of a command that takes no axes.
list --jsn
