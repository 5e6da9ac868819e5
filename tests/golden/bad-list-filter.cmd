# A filter that goes with another kind.
list models --vendor nvidia
