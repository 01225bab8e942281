"""Programs that the person named: what they start in the end, and what that needs."""
