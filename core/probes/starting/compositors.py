"""Variables that a Wayland compositor's own settings give to whatever it starts: Hyprland's ``env = NAME,value``.

Source: Hyprland's wiki, "Environment variables" and "Keywords" (``$name = value``, ``source``).
"""

from __future__ import annotations

import posixpath
import re

from core.host.startup.state import State, fill
from core.probes.starting.machine import Ground

MOST_FILES = 8
_ROW = re.compile(r"\s*(envd?|source|\$\w+)\s*=\s*(.*?)\s*(?:(?<!#)#(?!#).*)?$")


def read_compositor(ground: Ground, state: State) -> None:
    """Apply Hyprland's settings, and the files that they include."""
    known: dict[str, str] = {}
    waiting, seen = [ground.config("hypr/hyprland.conf")], 0
    while waiting and seen < MOST_FILES:
        path = waiting.pop(0)
        text = ground.read(path)
        if text is None:
            continue
        seen += 1
        state.files.append(path)
        for number, line in enumerate(text.splitlines(), 1):
            if (row := _ROW.match(line)) is None:
                continue
            key, told = row[1], re.sub(r"\$\w+", lambda m: known.get(m[0], m[0]), row[2])
            if key.startswith("$"):
                known[key] = told
            elif key == "source":
                place = told.replace("~", ground.person.home, 1) if told.startswith("~/") else told
                waiting.append(posixpath.join(posixpath.dirname(path), place))
            elif found := re.fullmatch(r"([A-Za-z_]\w*)\s*,\s*(.*)", told):
                value = fill(r"\$\{?(\w+)\}?", lambda m: state.values.get(m[1], m[0]), found[2])
                state.export_variable(found[1], value, path, number, "assignments")
