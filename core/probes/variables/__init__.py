"""Read variables and search paths."""
