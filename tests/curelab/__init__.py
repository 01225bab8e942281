"""The cure lab: real environments with a fault of their packages, cured by one press, verified by import, undone."""
