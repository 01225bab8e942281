"""How the installers are built: one folder per system, and what both share."""
