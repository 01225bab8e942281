"""An environment's packages: files put back by hash, or a twin in which the environment's own installer works."""
