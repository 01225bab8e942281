"""Read the ways in which programs are started here."""
