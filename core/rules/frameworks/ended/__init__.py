"""Imports that fail: what they do not get, why, and what cures it."""
