"""The operating system on Windows."""
