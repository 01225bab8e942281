"""What a person may choose about a scan."""

from __future__ import annotations

from core.model.facts import Frozen
from core.model.steps import Step


class ScanOptions(Frozen, frozen=True, kw_only=True):
    """How to scan; the same for the command line, the window and every verb."""

    steps: tuple[Step, ...] = ()
    """Limit the scan to these and what they need; empty for all."""
    thorough: bool = False
    """Compare every file with the hashes of its package."""
    trials: bool = False
    """Import the frameworks and convolve."""
    at_once: bool = False
    """Try frameworks also with their default use of GPU memory, which leaves none to other programs meanwhile."""
    pythons: tuple[str, ...] = ()
    """Interpreters or environment folders named by the person."""
    suggested: tuple[str, ...] = ()
    """Environments that an AI assistant named: they run only if nobody else can change them."""
    programs: tuple[str, ...] = ()
    """Programs named by the person: paths, or numbers of running processes."""
    script: str = ""
    """The Python script that the person named."""
    script_folder: str = ""
    """The folder of the Python script that the person named: Python imports from it first, not from the working folder."""


DEFAULT_SCAN = ScanOptions()
