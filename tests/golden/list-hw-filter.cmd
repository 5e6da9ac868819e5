# Only devices of a vendor, only from a size on; sorted by name, numbers by their value.
list hw --vendor apple --min-memory 128GiB
