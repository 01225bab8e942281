"""Convalesce's engine: look, diagnose, rehearse, apply, undo. No Qt in here."""

__version__ = "0.1.0"
