"""Follows Python code with the values of variables, as far as text decides it; nothing of the code runs."""
