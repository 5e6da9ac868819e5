# A pattern that is no regular expression.
validate --where 'metric=('
