"""Look for Python environments, their packages and how their frameworks were built."""
