"""The engines that docs/engines.md names, started for real: `python -m pytest -m engines tests/engines`, as root on Debian."""
