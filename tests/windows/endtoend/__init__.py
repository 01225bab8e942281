"""The commonest failures on Windows from beginning to end by the command line: scan, rehearse, cure, load, undo."""
