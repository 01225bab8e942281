"""Ways of starting without a person: services, schedules, batch systems, and servers that start notebooks and shells."""
