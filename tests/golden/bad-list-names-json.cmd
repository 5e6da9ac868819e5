list hw --names --json
