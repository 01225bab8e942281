"""What may be done with an administrator's rights: one module per kind of change, and the closed list of all kinds."""
