"""Ways of starting: what is read, beside what the real shells hand on."""
