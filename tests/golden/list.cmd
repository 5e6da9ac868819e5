# Without a kind: the kinds.
list
