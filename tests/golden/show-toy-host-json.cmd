# Numbers with method and source.
show --host toy --json
