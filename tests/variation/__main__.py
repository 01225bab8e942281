"""Writes down anew what the rules say of each varied machine: ``python -m tests.variation``."""

from tests.variation import written

written.write([variation for variation, _said in written.written()])
