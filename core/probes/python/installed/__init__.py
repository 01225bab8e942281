"""Installed distributions: their records, the files that are missing or were written over, and what does not fit."""
