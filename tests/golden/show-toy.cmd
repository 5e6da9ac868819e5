# A bare name is looked for among all kinds: the toy is a device in a machine, a host and a model.
show toy
