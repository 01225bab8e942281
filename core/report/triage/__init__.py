"""Many reports at once: what they share, what sets the sick machines apart, and rows for other tools."""
