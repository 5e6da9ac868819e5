# Only cards of a vendor, only from a size on.
list hw --vendor apple --min-memory 1GB
