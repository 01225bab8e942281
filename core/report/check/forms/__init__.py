"""How each engine gets a check's result: a module each with a function and the exit statuses, and one row in ``table``."""
