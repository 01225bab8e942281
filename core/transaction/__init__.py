"""Carry out changes: preconditions, journal, execution, undo, elevation, and where variables are kept."""
