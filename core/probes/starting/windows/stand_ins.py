"""The programs that stand for a Python on Windows: pip's launchers in Scripts, and the Store's aliases."""

from __future__ import annotations

import ntpath
import re

from core.host.startup.state import State
from core.probes.python.environment import prefix_of
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.machine import Ground

BEHIND_LAUNCHER = re.compile(rb"#!\s*\"?([^\"\r\n]+?python[\w.]*)\"?(?:[ \t][^\r\n]*)?\r?\nPK\x03\x04", re.IGNORECASE)
"""How the program of a package's command ends: the interpreter's path, and a packed file with its code (distlib's scripts.py)."""
LAUNCHER_BYTES = 16 << 10


def is_store_alias(path: str, ground: Ground) -> bool:
    """Whether a file is the Store's alias; one that leads to an installed Python has that one's prefix."""
    seen = ground.where.stat(path)
    return seen is not None and not seen.st_size and "\\windowsapps\\" in path.lower()


_SHIM = re.compile(r"(?m)^path\s*=\s*\"?([^\"\r\n]+)")


def behind_shim(path: str, ground: Ground) -> str:
    """Return the program that Scoop's shim starts, which a file beside it names; empty for any other program (scoop.sh, "Shims")."""
    named = _SHIM.search(ground.read(f"{path[:-4]}.shim") or "") if path.lower().endswith(".exe") else None
    return named[1].strip() if named and ground.where.is_file(named[1].strip()) else ""


def python_of_launcher(
    path: str, arguments: tuple[str, ...], state: State, ground: Ground, *, by_name: bool
) -> StartedFile | None:
    """Return the Python that the program of a package's command names; None for any other program."""
    if ntpath.basename(ntpath.dirname(path)).lower() not in ("scripts", "bin"):  # bin: pipx's, below .local
        return None
    named = BEHIND_LAUNCHER.search(ground.where.tail(path, LAUNCHER_BYTES) or b"")
    if named is None:
        return None
    python = named[1].decode("utf-8", "replace").strip()
    if not ground.where.is_file(python):
        return StartedFile(python, "", arguments=(path, *arguments), is_gone=True, launcher=path)
    prefix = prefix_of(python, ground.where, state.values)
    real = ground.where.real_path(prefix) if prefix else ""
    return StartedFile(python, prefix, real, (path, *arguments), by_name=by_name, launcher=path)
