"""The person's own programs: what they import, call and open, and what they put in an installed package's way."""
