"""Shells inside tmux and screen, whose servers have variables of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.host.startup.state import State
from core.probes.starting.commands import words_of
from core.probes.starting.machine import Ground
from core.probes.starting.shells import family, read_shell
from core.probes.starting.ways import Reached

SETS = re.compile(r"\s*(?:set-environment|setenv)\s")


def multiplexer_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield tmux (set-environment, tmux(1)) and screen (setenv, screen(1)), where the person has a file or one sets a variable."""
    for name, files in (
        ("tmux", ("/etc/tmux.conf", ground.at_home(".tmux.conf"), ground.config("tmux/tmux.conf"))),
        ("screen", ("/etc/screenrc", ground.at_home(".screenrc"))),
    ):
        state = terminal.copy()
        state.files = list(terminal.files)
        for path in files:
            if ground.read(path) is not None:
                _take(path, state, ground)
        if any(path in state.files for path in files[1:]) or state.lines != terminal.lines:
            read_shell(ground, state, family(ground.person.shell) or "dash", login=name == "tmux", interactive=True)
            yield Reached(kind="multiplexer", at=name, state=state)


def _take(path: str, state: State, ground: Ground) -> None:
    """Take what a file sets."""
    state.files.append(path)
    for number, line in enumerate((ground.read(path) or "").splitlines(), 1):
        words = words_of(line.rstrip(" \\;")) if SETS.match(line) else []
        first = next((n for n, w in enumerate(words[1:], 1) if not w.startswith("-")), len(words))
        options, names = "".join(w[1:] for w in words[1:first]), words[first:]  # a value may be -1
        if not names or not re.fullmatch(r"[A-Za-z_]\w*", names[0]):
            continue
        if "u" in options or "r" in options:
            state.unset_variable(names[0], path, number, "fish")
        elif len(names) > 1:
            value = re.sub(r"^~(?=/)", ground.person.home, names[1])
            value = re.sub(r"\$\{?(\w+)\}?", lambda m: state.values.get(m[1], ""), value)
            state.set_variable(names[0], value, path, number, "fish")
            state.exported.add(names[0])
