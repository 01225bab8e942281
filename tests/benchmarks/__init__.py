"""Benchmarks of our own: run by hand, compared in one run with what a user would run instead."""
