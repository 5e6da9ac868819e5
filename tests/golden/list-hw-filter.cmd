# Only cards of a vendor, only from a size on.
list hw --vendor toy --min-memory 1GB
