"""Frozen data that the whole program speaks in: facts, findings, changes, causes, steps, search paths."""
