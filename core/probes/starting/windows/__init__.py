"""The ways of starting on Windows: which there are, what its command lines lead to, and what Windows itself starts."""
