# A filter without a pattern.
validate --where metric
