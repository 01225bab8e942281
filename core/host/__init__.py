"""The operating system: read it, start programs and children. A child imports this package first, so it stays empty."""
