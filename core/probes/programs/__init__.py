"""Programs that the person named: what they finally start, and its dependencies."""
