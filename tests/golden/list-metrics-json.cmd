# The same as JSON.
list metrics --json
