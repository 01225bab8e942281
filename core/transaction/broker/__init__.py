"""What may be done with an administrator's rights: one module a kind of change, and the closed list of all kinds."""
