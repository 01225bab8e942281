"""The state of reading start-up files: variables, which of them are exported, and the line that each value comes from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec
from msgspec.structs import replace

from core.model.facts import GoneFile, LineForm, StartLine

UNKNOWN = "\ufffc"
"""Placeholder in a value for a part that reading cannot determine; no real variable contains this character."""
MOST_WORDS = 10_000
"""Words of one command or array."""
MOST_LETTERS = 1 << 17
"""No program gets a longer variable (Linux: MAX_ARG_STRLEN; on Windows 32767). A file of forty lines can double a value forty times."""
MOST_SCRIPTS = 100
"""Maximum number of scripts and functions that are read for one start: one that starts itself twice would be read without end."""
MOST_ROWS = 200
"""Maximum number of lines kept for one variable."""


def is_name(word: str) -> bool:
    """Whether a word can be a variable's name."""
    return bool(re.fullmatch(r"[A-Za-z_]\w*", word))


def fill(pattern: str | re.Pattern[str], put: Callable[[re.Match[str]], str], text: str) -> str:
    """Return ``re.sub(pattern, put, text)``; UNKNOWN where that is longer than any variable can be."""
    parts: list[str] = []
    size = at = 0
    for found in (re.compile(pattern) if isinstance(pattern, str) else pattern).finditer(text):
        parts += (text[at : found.start()], put(found))
        size += len(parts[-2]) + len(parts[-1])
        if size > MOST_LETTERS:
            return UNKNOWN
        at = found.end()
    return "".join((*parts, text[at:]))


class Surroundings(msgspec.Struct, frozen=True):
    """What a shell reads from the machine while it reads its files."""

    read: Callable[[str], str | None]
    """A path -> the text of a small file; None if there is none."""
    kind: Callable[[str], str]
    """A path -> "file", "folder" or "missing"."""
    names: Callable[[str], tuple[str, ...]]
    """A folder -> its sorted names."""
    uid: int = 1000
    user: str = ""


class Followed(msgspec.Struct):
    """What reading came to in the scripts of one start."""

    scripts: int = 0
    whole: set[str] = msgspec.field(default_factory=set)
    """Files whose text reading understood."""
    unclear: set[str] = msgspec.field(default_factory=set)
    """Files with something that reading did not follow, and that may change variables: text that shows only as the script runs."""

    with_functions: set[str] = msgspec.field(default_factory=set)
    """Files whose shell may have functions of start-up files."""

    def knows(self, file: str) -> bool:
        """Whether all that a file does to its shell's variables was followed."""
        return file in self.whole and file not in self.unclear


class State(msgspec.Struct):
    """The variables of a shell at one point of its files."""

    values: dict[str, str] = msgspec.field(default_factory=dict)
    exported: set[str] = msgspec.field(default_factory=set)
    lines: dict[str, list[StartLine]] = msgspec.field(default_factory=dict)
    """Variable -> the lines that made its current value."""
    open: set[str] = msgspec.field(default_factory=set)
    files: list[str] = msgspec.field(default_factory=list)
    aliases: dict[str, tuple[str, str, int]] = msgspec.field(default_factory=dict)
    """Command -> what its alias stands for, file and line."""
    gone: list[GoneFile] = msgspec.field(default_factory=list)
    """Files of variables that were to be read, and that are not there."""
    ignored: list[StartLine] = msgspec.field(default_factory=list)
    """Lines that would set a variable, in a form that their reader ignores."""
    separator: str = ":"
    """Separator of the entries of a list: ";" on Windows."""
    followed: Followed = msgspec.field(default_factory=Followed)
    """Of the present start, over all copies of this state."""

    def apart(self, *files: str) -> State:
        """Return an independent copy whose files are its own, with further ones: a copy alone notes them for both."""
        its = self.copy()
        its.files = [*self.files, *files]
        return its

    def copy(self) -> State:
        """Return an independent copy."""
        lines = {n: list(its) for n, its in self.lines.items()}
        return State(
            dict(self.values),
            set(self.exported),
            lines,
            set(self.open),
            self.files,
            dict(self.aliases),
            list(self.gone),
            list(self.ignored),
            self.separator,
            self.followed,
        )

    def take(self, its: State) -> None:
        """Become what another state is, but for its counts."""
        self.values, self.exported, self.open, self.aliases = its.values, its.exported, its.open, its.aliases
        self.files, self.lines, self.gone, self.ignored = its.files, its.lines, its.gone, its.ignored

    def begin(self) -> None:
        """Follow another start from here: what was read for an earlier one does not count."""
        self.followed = Followed()

    def may_read(self) -> bool:
        """Count a script; return whether it may still be read."""
        self.followed.scripts += 1
        return self.followed.scripts <= MOST_SCRIPTS

    def miss(self, path: str, file: str, line: int, *, ends: bool = False) -> None:
        """Record a file of variables that is not there."""
        if not any(g.path == path for g in self.gone):
            self.gone.append(GoneFile(path=path, file=file, line=line, ends=ends))

    def ignore(self, name: str, value: str, file: str, line: int, form: LineForm = "assignments") -> None:
        """Record a line of a file of variables that its reader ignores, or takes for another variable."""
        self.ignored.append(
            StartLine(name=name, does="set", value=value, file=file, line=line, form=form, overridden=True)
        )

    def set_variable(self, name: str, value: str, file: str, line: int, form: LineForm) -> None:
        """Set a variable and record the line."""
        old = self.values.get(name, "")
        value = value if len(value) <= MOST_LETTERS else UNKNOWN
        self.values[name] = value
        if UNKNOWN in value:
            self.open.add(name)
            self._note(StartLine(name=name, does="open", file=file, line=line, form=form))
            return
        if old and name not in self.open and value.endswith(self.separator + old):
            row = StartLine(
                name=name, does="prepend", value=value, added=value[: -len(old) - 1], file=file, line=line, form=form
            )
        elif old and name not in self.open and value.startswith(old + self.separator):
            row = StartLine(
                name=name, does="append", value=value, added=value[len(old) + 1 :], file=file, line=line, form=form
            )
        else:
            self.open.discard(name)
            self._override(name)
            row = StartLine(name=name, does="set", value=value, file=file, line=line, form=form)
        self._note(row)

    def export_variable(self, name: str, value: str, file: str, line: int, form: LineForm) -> None:
        """Set a variable that programs get, and record the line. On Windows it keeps the name that it has, in whichever letters."""
        if self.separator == ";":
            name = next((n for n in self.values if n.upper() == name.upper()), name)
        self.set_variable(name, value, file, line, form)
        self.exported.add(name)

    def cut_off(self, name: str, rest: str) -> None:
        """Record what a line that sets a variable has behind a blank, which its reader drops."""
        if rows := self.lines.get(name):
            rows[-1] = replace(rows[-1], cut=f"{rows[-1].cut} {rest}".strip())

    def unset_variable(self, name: str, file: str, line: int, form: LineForm) -> None:
        """Unset a variable."""
        known = name in self.values
        self.values.pop(name, None)
        self.exported.discard(name)
        self.open.discard(name)
        self._override(name)
        if known:
            self._note(StartLine(name=name, does="unset", file=file, line=line, form=form))

    def keep_only(self, kept: Collection[str], file: str, line: int, form: LineForm) -> None:
        """Unset every variable that programs get, but for these."""
        for name in [n for n in self.values if n in self.exported and n not in kept]:
            self.unset_variable(name, file, line, form)

    def _note(self, row: StartLine) -> None:
        rows = self.lines.setdefault(row.name, [])
        rows.append(row)
        del rows[:-MOST_ROWS]

    def _override(self, name: str) -> None:
        """Discard the previous lines, which no longer affect the value."""
        rows = self.lines.get(name, ())
        self.lines[name] = [row if row.overridden else replace(row, overridden=True) for row in rows]

    def merge_branches(self, others: list[State], file: str, line: int, form: LineForm) -> None:
        """Merge the states of several branches of which any may have run; variables that differ are unknown.

        Changes this state.
        """
        first = others[0]
        names = dict.fromkeys(n for s in (self, *others) for n in s.values)
        for name in names:
            if any(s.values.get(name) != first.values.get(name) or name in s.open for s in others):
                self.open.add(name)
                rows = {r: None for s in others for r in s.lines.get(name, ())}
                self.lines[name] = [*rows, StartLine(name=name, does="open", file=file, line=line, form=form)]
                self.values[name] = next((s.values[name] for s in others if name in s.values), "")
            elif name in first.values:
                self.values[name] = first.values[name]
                self.lines[name] = first.lines.get(name, [])
            else:
                self.values.pop(name, None)
        self.exported |= {n for s in others for n in s.exported}

    def place(self, path: str) -> str:
        """Return a path that is meant from the working folder (PWD; on Linux)."""
        return posixpath.normpath(posixpath.join(self.values.get("PWD", "/"), path))

    def environment(self) -> dict[str, str]:
        """Return the exported variables, without unknown ones."""
        return {n: v for n, v in self.values.items() if n in self.exported and n not in self.open}


def at_most(words: Iterable[str]) -> Iterator[str]:
    """Yield the words of a command or an array; UNKNOWN for the rest where they are too many: an array can double itself."""
    size = 0
    for number, word in enumerate(words):
        size += len(word)
        if number >= MOST_WORDS or size > 8 * MOST_LETTERS:
            yield UNKNOWN
            return
        yield word
