"""The home folder of the account that runs the program, even if it has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

NOWHERE = Path("/nonexistent")
"""Home of an account that has none: no HOME, and no entry in the system's list of accounts (Debian's word for it)."""


def user_home() -> Path:
    """Return the home folder, or NOWHERE."""
    return below_home(Path.home)


def below_home(find: Callable[[], Path]) -> Path:
    """Return ``find``'s folder for this account; NOWHERE if it has no home folder, so that reading finds nothing."""
    try:
        return find()
    except RuntimeError:  # pathlib's and platformdirs' word for "no home"
        return NOWHERE
