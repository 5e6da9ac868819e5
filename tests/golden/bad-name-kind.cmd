# Unknown kind.
list hardware
