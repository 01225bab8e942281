"""Rules about Python environments and their frameworks."""
