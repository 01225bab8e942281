"""The operating system on Linux."""
