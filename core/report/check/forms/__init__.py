"""How a check is said to each engine: one module each, of a function and the exit statuses, and one row in ``table``."""
