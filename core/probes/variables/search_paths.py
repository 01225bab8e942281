"""Search-path variables split into entries: pure functions for both systems, testable on either."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from core.common.late_pattern import late_pattern
from core.model import path_list
from core.model.facts import Frozen, Mark, PathEntry, Scope, System, path_text

FolderState = Literal["folder", "missing", "not a folder", "unreadable", "unknown"]

LD_TOKENS = ("ORIGIN", "LIB", "PLATFORM")
"""Tokens that ld.so expands by itself: ld.so(8), "Dynamic string tokens"."""

_PERCENT = late_pattern(r"%([^%;]+)%")
_DOLLAR = late_pattern(r"\$\{?(\w+)")


_STATE_MARKS: dict[FolderState, Mark] = {
    "missing": "missing",
    "not a folder": "not a folder",
    "unreadable": "unreadable",
}


class EntryOnDisk(Frozen, frozen=True, kw_only=True):
    """What the disk shows of one entry."""

    state: FolderState = "folder"
    others_write: bool = False
    meant: str = ""


class RawEntry(Frozen, frozen=True, kw_only=True):
    """One raw entry of a variable, before the disk is examined."""

    raw: str
    expanded: str
    scope: Scope = "process"


def expand_percent(value: str, env: Mapping[str, str]) -> str:
    """Return ``value`` with Windows' %VAR% replaced; unset variables stay, as in Windows."""
    known = {name.upper(): v for name, v in env.items()}
    return _PERCENT.sub(lambda m: known.get(m[1].upper(), m[0]), value)


def text_marks(raw: str, expanded: str, variable: str, system: System) -> Iterator[Mark]:
    """Yield the marks that the entry's text alone justifies."""
    bare = expanded.strip('"') if system == "windows" else expanded
    if '"' in raw:
        yield "quoted"
    if not is_absolute(bare, system) and not (variable.startswith("LD_") and bare.startswith(("$ORIGIN", "${ORIGIN}"))):
        yield "relative"
    if is_unexpanded(expanded, variable, system):
        yield "unexpanded"
    if len(bare) > 1 and bare[-1] in ("\\/" if system == "windows" else "/") and not _is_top(bare, system):
        yield "trailing slash"
    if "[" in raw or "]" in raw:
        yield "brackets"
    if not raw.isascii():
        yield "non-ascii"


def is_absolute(path: str, system: System) -> bool:
    r"""Whether a loader can use the path from any working directory, unlike ``\tools`` and ``C:tools``."""
    if system == "linux":
        return path.startswith(("/", "~"))
    drive, rest = ntpath.splitdrive(path)
    return path.startswith("%") or (bool(drive) and (rest[:1] in ("\\", "/") or drive.startswith("\\\\")))


def is_unexpanded(expanded: str, variable: str, system: System) -> bool:
    """Whether the text still contains a variable's name or a tilde, which no loader expands."""
    if system == "windows":
        return bool(_PERCENT.search(expanded))
    if expanded.startswith("~"):
        return True
    return any(m[1] not in LD_TOKENS or not variable.startswith("LD_") for m in _DOLLAR.finditer(expanded))


def _is_top(path: str, system: System) -> bool:
    if system == "linux":
        return not path.strip("/")
    return not ntpath.splitdrive(path)[1].strip("\\/")


def path_entries(
    variable: str, parts: list[RawEntry], system: System, look: Callable[[str], EntryOnDisk]
) -> tuple[PathEntry, ...]:
    """Return one PathEntry for each part, in order, with its marks. ``look`` is called once for each distinct folder."""
    first: dict[str, int] = {}
    known: dict[str, EntryOnDisk] = {}
    found = []
    for index, part in enumerate(parts):
        bare = part.expanded.strip('"') if system == "windows" else part.expanded
        if not bare.strip():
            found.append(_entry(variable, index, part, marks=("empty",)))
            continue
        marks = list(text_marks(part.raw, part.expanded, variable, system))
        same = path_list.entry_key(part.expanded, system)
        original = first.setdefault(same, index)
        if original != index:
            marks.append("duplicate")
        seen = known.get(same)
        if seen is None:
            seen = known[same] = look(bare)
        if seen.state in _STATE_MARKS:
            marks.append(_STATE_MARKS[seen.state])
        if seen.state == "missing" and system == "linux" and "*" in bare and "unexpanded" not in marks:
            marks.append("unexpanded")  # only a shell replaces a star, and not in an assignment
        if seen.others_write:
            marks.append("writable by others")
        found.append(
            _entry(
                variable,
                index,
                part,
                marks=tuple(marks),
                exists=seen.state != "missing",
                duplicate_of=original if original != index else None,
                meant=seen.meant,
            )
        )
    return tuple(found)


def _entry(
    variable: str,
    index: int,
    part: RawEntry,
    *,
    marks: tuple[Mark, ...],
    exists: bool = True,
    duplicate_of: int | None = None,
    meant: str = "",
) -> PathEntry:
    return PathEntry(
        variable=variable,
        index=index,
        text=path_text(part.raw),
        expanded=path_text(part.expanded),
        scope=part.scope,
        exists=exists,
        marks=marks,
        duplicate_of=duplicate_of,
        meant=path_text(meant),
    )
