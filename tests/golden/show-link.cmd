# A source that stands more than once is numbered.
show nvlink4
