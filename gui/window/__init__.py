"""The main window and what frames its pages."""
