"""The main window and the frame around its pages."""
