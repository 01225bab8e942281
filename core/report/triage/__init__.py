"""Many reports at once: what they share, what distinguishes the faulty machines, and rows for other tools."""
