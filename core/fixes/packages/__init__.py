"""An environment's packages: files restored by hash, or a twin in which the environment's own installer runs."""
