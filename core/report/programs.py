"""Running programs by their familiar names: which to restart after a change."""

from __future__ import annotations

from collections.abc import Iterable

from core.common.i18n import _

SHELLS = {"bash", "zsh", "fish", "sh", "dash", "tcsh", "ksh", "cmd.exe", "powershell.exe", "pwsh.exe", "pwsh"}
KNOWN = {
    "jupyter": "Jupyter",
    "ipython": "IPython",
    "code": "Visual Studio Code",
    "cursor": "Cursor",
    "pycharm": "PyCharm",
    "spyder": "Spyder",
    "ollama": "Ollama",
    "python": "Python",
    "tmux": "tmux",
    "screen": "screen",
}
"""Prefix of a process name -> the program's familiar name."""


def known_programs(processes: Iterable[str]) -> tuple[str, ...]:
    """Return the programs that a person starts, each once, without background processes."""
    found = []
    for process in processes:
        if process.lower() in SHELLS:
            found.append(_("terminals"))
        else:
            found += [name for start, name in KNOWN.items() if process.lower().startswith(start)][:1]
    return tuple(dict.fromkeys(found))
