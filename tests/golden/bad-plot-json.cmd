# JSON that is no result.
plot other.json
