"""Read the text of modules: the names that it binds, the modules that it imports, and what its expressions come to. Nothing is run."""
