"""Data files: knowledge, icons, translations, templates."""
