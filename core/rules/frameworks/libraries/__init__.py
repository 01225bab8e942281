"""Missing dependencies of frameworks' own binaries: what is missing, its finding, its fix, and one finding for all."""
