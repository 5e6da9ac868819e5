# Unknown among all kinds.
show rtx4900
