"""The operating system: read it, start programs and child processes. Every child imports this package first, so it stays empty."""
