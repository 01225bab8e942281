r"""Blanks and quotation marks that ``set`` keeps in a variable's name or value, where a batch file would start another Python without them.

Seen in wine's cmd.exe: blanks before and behind the equals sign belong to the name and to the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from core.host.startup.state import State
from core.model.facts import LineForm, StartedPython, StartLine
from core.probes.starting.commands.started_code import lacking_pythons
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached
from core.probes.starting.windows.command_lines import prefix_among, python_of_batch


class _WithoutBlanks(State):
    """Variables where one line sets what the person means."""

    at: tuple[str, int] = ("", 0)
    """Its file and line."""

    def set_variable(self, name: str, value: str, file: str, line: int, form: LineForm) -> None:
        """Set a variable; on this line, without what surrounds its name and its value."""
        if (file, line) == self.at:
            name = next((n for n in self.values if n.upper() == name.strip().upper()), name.strip())
            value = _meant(value)
        State.set_variable(self, name, value, file, line, form)


def with_kept_blanks(one: StartedPython, way: Reached, ground: Ground) -> StartedPython:
    """Return a start that ends, with the line that would lead to a Python that has what the program imports, were it read as it is meant."""
    if one.why != "imports":
        return one
    row = next((r for r in _kept(way.state) if _would_help(r, one, way, ground)), None)
    return replace(one, misset=row) if row else one


def _would_help(row: StartLine, one: StartedPython, way: Reached, ground: Ground) -> bool:
    state = _WithoutBlanks(dict(ground.env), set(ground.env), separator=";", at=(row.file, row.line))
    state.values["PWD"] = ground.folder
    found = python_of_batch(way.at, state, ground)
    if found is None or found.is_gone or prefix_among(found, ground.pythons) in ("", one.prefix):
        return False
    its = Reached(kind=way.kind, at=way.at, state=state, prefix="", argv=way.argv)
    return not any(True for _lack in lacking_pythons(found, its, ground))


def _kept(state: State) -> Iterator[StartLine]:
    """Yield the lines of batch files that set a variable with something around its name or its value."""
    for rows in state.lines.values():
        yield from (
            r
            for r in rows
            if r.form == "cmd" and r.does == "set" and (r.name, r.value) != (r.name.strip(), _meant(r.value))
        )


def _meant(value: str) -> str:
    return value.strip().strip('"')
