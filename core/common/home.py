"""The home folder of whoever runs the program, also where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

NOWHERE = Path("/nonexistent")
"""Home of an account that has none: no HOME, and no entry in the system's list of accounts (Debian's word for it)."""


def user_home() -> Path:
    """Return the home folder, or NOWHERE."""
    return below_home(Path.home)


def below_home(find: Callable[[], Path]) -> Path:
    """Return the folder that ``find`` makes of the home folder; NOWHERE without one, so that reading finds nothing."""
    try:
        return find()
    except RuntimeError:  # pathlib's and platformdirs' word for "no home"
        return NOWHERE
