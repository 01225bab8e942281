"""Python's search for modules: sys.path with the origin of each entry, and what an import finds there."""
