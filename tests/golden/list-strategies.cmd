# Axes with their words, defaults and tasks.
list strategies
