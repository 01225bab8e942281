"""The start-up matrix: places where variables are set, shells, and ways of starting; beside what the real shells do."""
