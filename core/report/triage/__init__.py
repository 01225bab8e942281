"""Many reports in one: what they share, what sets the sick machines apart, and rows for the tools that people have."""
