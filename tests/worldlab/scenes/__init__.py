"""The scenes, one module a topic; each has a tuple ``SCENES``. ``held_out*`` are the last third, run only when asked for."""

from __future__ import annotations

import importlib
import pkgutil

from tests.worldlab.scene import Scene

HELD_OUT = {
    "1": "held_out",
    "2": "held_out_2",
    "3": "held_out_3",
    "4": "held_out_4",
    "5": "held_out_5",
    "6": "held_out_6",
    "7": "held_out_7",
    "8": "held_out_8",
    "9": "held_out_9",
    "10": "held_out_10",
    "11": "held_out_11",
    "12": "held_out_12",
    "13": "held_out_13",
    "14": "held_out_14",
    "15": "held_out_15",
    "16": "held_out_16",
    "17": "held_out_17",
    "18": "held_out_18",
    "19": "held_out_19",
    "20": "held_out_20",
    "21": "held_out_21",
    "22": "held_out_22",
    "23": "held_out_23",
    "24": "held_out_24",
    "25": "held_out_25",
    "26": "held_out_26",
}
"""The name of each held-out set -> its module."""


def table(held_out: str = "") -> tuple[Scene, ...]:
    """Return all scenes that the rules may be made with, or the held-out set of this name."""
    found: list[Scene] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        if module == HELD_OUT[held_out] if held_out else module not in HELD_OUT.values():
            found += importlib.import_module(f"{__name__}.{module}").SCENES
    return tuple(found)
