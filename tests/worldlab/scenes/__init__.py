"""The scenes, one module a topic; each has a tuple ``SCENES``. ``held_out*`` are the last third, run only when asked for."""

from __future__ import annotations

import importlib
import pkgutil

from tests.worldlab.scene import Scene


def table(*, held_out: bool = False) -> tuple[Scene, ...]:
    """Return all scenes that the rules may be made with, or those that are held out."""
    found: list[Scene] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        if module.startswith("held_out") == held_out:
            found += importlib.import_module(f"{__name__}.{module}").SCENES
    return tuple(found)
