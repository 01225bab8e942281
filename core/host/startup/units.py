"""Variables that systemd gives a service: from the manager's configuration, the unit, its drop-ins and files of
variables.

After systemd.unit(5), systemd.exec(5), systemd.service(5) and systemd-user.conf(5).
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from core.common.late_pattern import late_pattern
from core.host.startup.state import State, Surroundings
from core.host.startup.systemd_files import read_systemd_file

_NAME = r"[A-Za-z_]\w*"
SECTIONS = ("[Service]", "[Manager]", "")


class Row(msgspec.Struct, frozen=True):
    """One assignment of a unit, with continued lines joined."""

    key: str
    value: str
    file: str
    line: int


class Unit(msgspec.Struct, frozen=True):
    """What a service starts."""

    command: str = ""
    """The first ExecStart, with specifiers replaced."""
    user: str = ""
    folder: str = ""
    at: tuple[str, int] = ("", 1)
    """File and line of the command."""
    settings: Mapping[str, tuple[Row, ...]] = {}
    """Every setting that counts, each with its lines; an empty assignment has discarded the lines before it."""


def unit_rows(text: str, file: str) -> Iterator[Row]:
    """Yield the assignments in the sections about the started command and its variables."""
    section = ""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first, line = number + 1, lines[number]
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            if not lines[number].lstrip().startswith(("#", ";")):
                line = line[:-1] + " " + lines[number].strip()
            else:
                line = line[:-1] + "\\"
        number += 1
        bare = line.strip()
        if bare.startswith("["):
            section = bare
        elif not bare.startswith(("#", ";")) and "=" in bare and section in SECTIONS:
            key, _equals, value = bare.partition("=")
            yield Row(key.strip(), value.strip(), file, first)


_MAY_LAST = late_pattern(r"python|\.py\b|\.sh\b|\bsh\s|/bin/activate|env/bin/")
"""In the one of several commands (Type=oneshot) that does the work; the last one without such words."""


def apply_unit(rows: Iterable[Row], state: State, around: Surroundings, known: Mapping[str, str], *, own: bool) -> Unit:
    """Apply the assignments of configuration, unit and drop-ins to ``state`` in systemd's order, and return what is
    started.

    ``known`` contains the specifiers. ``own``: the service belongs to the person's manager, which passes on all its
    variables; the system's manager passes on only those in PassEnvironment=. Files of variables are applied after
    single variables, and UnsetEnvironment= last; an empty assignment discards the previous ones.
    """
    lists: dict[str, list[Row]] = {}
    single: dict[str, Row] = {}
    for row in rows:
        if not row.value:
            lists.pop(row.key, None)
            single.pop(row.key, None)
        elif row.key != "ExecStart" or row.key not in single or not _MAY_LAST.search(single[row.key].value):
            single[row.key] = row
            lists.setdefault(row.key, []).append(row)
    for row in (*lists.get("DefaultEnvironment", ()), *lists.get("Environment", ())):
        _set_words(row, state, known)
    _hand_on(lists, state, known, own=own)
    for row in lists.get("EnvironmentFile", ()):
        for path in _matching_files(replace_specifiers(row.value.lstrip("-"), known), around):
            if not _read_file(path, around.read, state) and around.kind(path) == "missing":
                state.miss(path, row.file, row.line, ends=not row.value.startswith("-"))
    for row in lists.get("UnsetEnvironment", ()):
        for word in quoted_words(row.value):
            name, equals, its = replace_specifiers(word, known).partition("=")
            if not equals or state.values.get(name) == its:
                state.unset_variable(name, row.file, row.line, "systemd")
    text, folder, user = (
        replace_specifiers(single[k].value, known) if k in single else ""
        for k in ("ExecStart", "WorkingDirectory", "User")
    )
    at = (single["ExecStart"].file, single["ExecStart"].line) if text else ("", 1)
    folder = folder.lstrip("-")
    settings = {key: tuple(its) for key, its in lists.items()}
    return Unit(text.lstrip("@-:+!"), user, known.get("h", "") if folder == "~" else folder, at, settings)


def _set_words(row: Row, state: State, known: Mapping[str, str]) -> None:
    """Set the variables of one line; systemd drops a word that is no assignment ("Invalid environment assignment, ignoring")."""
    last = ""
    for word in quoted_words(row.value):
        name, equals, its = word.partition("=")
        if equals and re.fullmatch(_NAME, name):
            state.export_variable(name, replace_specifiers(its, known), row.file, row.line, "systemd")
            last = name
        elif last and word.startswith("#"):
            return  # meant for a comment: nothing of the value is lost
        elif last:
            state.cut_off(last, word)


def _hand_on(lists: Mapping[str, list[Row]], state: State, known: Mapping[str, str], *, own: bool) -> None:
    """Set the variables that the manager passes on; those that the unit sets replace them."""
    managers = _managers(lists.get("ManagerEnvironment", ()), known)
    passed = [n for row in lists.get("PassEnvironment", ()) for n in quoted_words(replace_specifiers(row.value, known))]
    for name in dict.fromkeys(managers if own else passed):
        if name in state.values:
            continue
        state.exported.add(name)
        if name in managers:
            state.set_variable(name, *managers[name], "systemd")
        else:
            state.open.add(name)  # No file shows the variables that the system's own manager was started with.


def _managers(rows: Iterable[Row], known: Mapping[str, str]) -> dict[str, tuple[str, str, int]]:
    """Return the variables that ManagerEnvironment= sets for the manager itself: value, file and line of each."""
    return {
        name: (replace_specifiers(its, known), row.file, row.line)
        for row in rows
        for word in quoted_words(row.value)
        for name, equals, its in [word.partition("=")]
        if equals and re.fullmatch(_NAME, name)
    }


def replace_specifiers(text: str, known: Mapping[str, str]) -> str:
    """Replace specifiers such as "%h"; an unknown one stays."""
    return re.sub(r"%(.)", lambda m: "%" if m[1] == "%" else known.get(m[1], m[0]), text)


def specifiers(name: str, *, home: str, user: str, uid: int, config: str, own: bool) -> dict[str, str]:
    """Return the specifiers of a unit with this file name."""
    bare = name.rpartition(".")[0]
    prefix, _at, instance = bare.partition("@")
    last = prefix.rpartition("-")[2]
    kept = {
        "h": home,
        "u": user,
        "U": str(uid),
        "n": name,
        "N": bare,
        "p": prefix,
        "i": instance,
        "j": last,
        "T": "/tmp",  # noqa: S108 - what it stands for
    }
    kept |= {
        "P": unescape(prefix),
        "I": unescape(instance),
        "J": unescape(last),
        "f": "/" + unescape(instance or prefix),
    }
    places = {"E": config, "S": f"{home}/.local/state", "C": f"{home}/.cache", "t": f"/run/user/{uid}"} if own else {}
    return {"E": "/etc", "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "t": "/run", **kept, **places}


def unescape(text: str) -> str:
    """Undo the escaping of systemd-escape(1)."""
    return re.sub(r"\\x([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), text.replace("-", "/"))


def quoted_words(text: str) -> Iterator[str]:
    """Yield the words of an assignment without their quotes."""
    for found in re.finditer(r"((?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s\"'])+)", text):
        yield re.sub(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|\\(.)", _bare, found[1])


def _bare(found: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", found[1]) if found[1] else found[2] or found[3] or ""


def _matching_files(pattern: str, around: Surroundings) -> Iterator[str]:
    """Yield the files that match a path with wildcards in its last part, sorted (glob(7))."""
    folder, _slash, name = pattern.rpartition("/")
    if any(c in folder for c in "*?[") or not pattern.startswith("/"):
        return
    if not any(c in name for c in "*?["):
        yield pattern
        return
    for each in around.names(folder):
        if fnmatch.fnmatchcase(each, name) and not each.startswith("."):
            yield posixpath.join(folder, each)


def _read_file(path: str, read: Callable[[str], str | None], state: State) -> bool:
    """Apply a file of variables; return whether it could be read."""
    text = read(path)
    if text is not None:
        read_systemd_file(text, path, state)
    return text is not None
