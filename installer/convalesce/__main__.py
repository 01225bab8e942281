"""``python -m convalesce``."""

from convalesce import start

raise SystemExit(start())
