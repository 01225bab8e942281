"""Rules: pure functions Snapshot -> Findings. No os, no subprocess, no ctypes, no clock, no files."""
