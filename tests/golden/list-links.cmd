# By direction, both ways at once, and from pageable memory (none between devices).
list links
