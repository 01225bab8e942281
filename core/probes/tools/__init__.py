"""Compilers, linkers and container engines on this machine."""
