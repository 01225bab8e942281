"""Follow imports from module to module, to the one that fails."""
