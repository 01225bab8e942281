"""Running programs by the names that people know: what has to be started again after a change."""

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
"""Beginning of a process' name -> the program's own name."""


def known_programs(processes: Iterable[str]) -> tuple[str, ...]:
    """Return the programs among the names of processes that a person starts, each once; what nobody sees is left out."""
    found = []
    for process in processes:
        if process.lower() in SHELLS:
            found.append(_("terminals"))
        else:
            found += [name for start, name in KNOWN.items() if process.lower().startswith(start)][:1]
    return tuple(dict.fromkeys(found))
