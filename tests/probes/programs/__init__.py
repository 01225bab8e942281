"""Programs that are not Python: what is said of them, beside what they do when they are started."""
