# A vendor that nobody is would give an empty table without a word.
list hw --vendor nvidea
