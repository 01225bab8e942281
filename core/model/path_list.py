"""Search-path texts (PATH, LD_LIBRARY_PATH) as lists: one entry is edited, every other byte stays."""

from __future__ import annotations

from core.common.i18n import _, format_number
from core.model.facts import System
from core.model.paths import normalise

MAX_CHARACTERS = {"windows": 32_766, "linux": 131_071}
"""Most characters (Linux: bytes, with the name) that the system lets one variable have, without its terminator.

Windows: 32,767 with it (Microsoft, win32 "Environment Variables"). Linux: MAX_ARG_STRLEN, 32 pages of 4,096 bytes
with the terminator (execve(2)).
"""


class PathError(ValueError):
    """An edit that would not do what it says; the message is one sentence."""


LIBRARY_VARIABLE = "LD_LIBRARY_PATH"


def list_separators(system: System, name: str = "PATH") -> str:
    """Return the separator characters of a variable, the usual one first.

    ld.so takes a semicolon in LD_LIBRARY_PATH as well as a colon (ld.so(8)); every other search path of Linux has colons.
    """
    if system == "windows":
        return ";"
    return ":;" if name == LIBRARY_VARIABLE else ":"


def split_entries(value: str, system: System, name: str = "PATH") -> list[str]:
    """Return the entries as they are written, one by one as a person reads and edits them. An empty text has none.

    On Windows a semicolon between double quotes separates nothing.
    """
    return _entries_and_separators(value, system, name)[0]


def searched_entries(value: str, system: System, name: str = "PATH") -> list[str]:
    """Return the entries as the loader takes them, raw. An empty text has none.

    Windows' DLL loader lets a semicolon between double quotes separate as well, where cmd.exe keeps the entry together.
    """
    if system == "windows":
        return value.split(";") if value else []
    return split_entries(value, system, name)


def _entries_and_separators(value: str, system: System, name: str) -> tuple[list[str], list[str]]:
    """Return the entries and the separators between them: always one less, except for an empty text."""
    if not value:
        return [], []
    letters = list_separators(system, name)
    entries, between, start, quoted = [], [], 0, False
    for i, letter in enumerate(value):
        if letter == '"' and system == "windows":
            quoted = not quoted
        elif letter in letters and not quoted:
            entries.append(value[start:i])
            between.append(letter)
            start = i + 1
    return [*entries, value[start:]], between


def _join_parts(entries: list[str], between: list[str]) -> str:
    return "".join(part for pair in zip(entries, [*between, ""], strict=True) for part in pair) if entries else ""


def _insert(entries: list[str], between: list[str], entry: str, index: int, separator: str) -> None:
    """Put an entry before the one at ``index``, or last, with a separator on the side where a neighbour is."""
    if entries:
        between.insert(min(index, len(between)), separator)
    entries.insert(index, entry)


def _take(entries: list[str], between: list[str], index: int) -> str:
    """Remove the entry at ``index`` with the separator before it (after it, for the first); return the separator."""
    del entries[index]
    return between.pop(max(index - 1, 0)) if between else ""


def join_entries(entries: list[str], system: System) -> str:
    """Return the entries as one text."""
    return list_separators(system)[0].join(entries)


def entry_key(entry: str, system: System) -> str:
    r"""Return a key that is equal for two entries that spell the same folder; links are not resolved.

    Slashes that are doubled or trailing and ``.`` do not count. Windows: nor do quotes, case, the kind of slash and blanks
    around it; ``%VAR%`` is compared as written.
    """
    if system != "windows":
        return normalise(system, entry)
    plain = normalise(system, entry.replace('"', "").strip())
    return plain + "\\" if plain.endswith(":") else plain


def find_entry(value: str, entry: str, system: System) -> int | None:
    """Return the index of the first entry of a PATH that names the same folder, or None."""
    wanted = entry_key(entry, system)
    return next((i for i, e in enumerate(split_entries(value, system)) if entry_key(e, system) == wanted), None)


def count_before_end(entries: list[str], system: System) -> int:
    """Return the number of entries; a trailing semicolon of Windows only ends the last entry."""
    return len(entries) - (system == "windows" and entries[-1:] == [""])


def check_entry(entry: str, system: System, name: str) -> None:
    """Check that a text can be one entry.

    Raises:
        PathError: it is empty, is more than one entry, or has a line end or a NUL in it.
    """
    if not entry.strip():
        raise PathError(_("An empty entry means the current folder, and is never added."))
    if any(c in entry for c in "\0\r\n"):
        raise PathError(_("A folder with a line break in its name cannot be part of a search path."))
    if len(split_entries(entry, system, name)) != 1 or (system == "windows" and _is_open(entry)):
        raise PathError(_("{entry} is not one entry of a search path.", entry=repr(entry)))


def _is_open(entry: str) -> bool:
    """Whether a quote is opened and never closed: only the last entry of a value can be like this."""
    return entry.count('"') % 2 == 1


def check_position(index: int, entries: list[str], end: int) -> None:
    """Raise PathError for a position that is not before ``end``."""
    if not 0 <= index < end:
        raise PathError(
            _("The search path has {count} entries; there is no position {index}.", count=len(entries), index=index)
        )


def _check_entry_at(index: int, entries: list[str], entry: str) -> None:
    if not 0 <= index < len(entries) or entries[index] != entry:
        raise PathError(
            _("The entry {entry} is not at position {index} of the search path.", entry=repr(entry), index=index)
        )


def insert_in_path(value: str, entry: str, index: int, system: System, *, name: str = "PATH") -> str:
    """Return ``value`` with ``entry`` put before the entry now at ``index`` (its length: put last).

    Raises:
        PathError: see ``check_entry``; or the index is not in the list; or an open quote would swallow the entry.
    """
    check_entry(entry, system, name)
    entries, between = _entries_and_separators(value, system, name)
    check_position(index, entries, len(entries) + 1)
    if system == "windows" and any(_is_open(e) for e in entries[:index]):
        raise PathError(
            _("An earlier entry has an opening quotation mark without a closing one; repair that entry first.")
        )
    _insert(entries, between, entry, index, list_separators(system, name)[0])
    return _join_parts(entries, between)


def remove_from_path(value: str, entry: str, index: int, system: System, *, name: str) -> str:
    """Return ``value`` without the entry at ``index``, which must read ``entry``.

    Raises:
        PathError: the entry at ``index`` is another.
    """
    entries, between = _entries_and_separators(value, system, name)
    _check_entry_at(index, entries, entry)
    _take(entries, between, index)
    return _join_parts(entries, between)


def move_in_path(value: str, entry: str, index: int, to: int, system: System, *, name: str) -> str:
    """Return ``value`` with the entry at ``index`` moved so that it ends up at ``to``.

    Raises:
        PathError: see ``remove_from_path`` and ``insert_in_path``.
    """
    entries, between = _entries_and_separators(value, system, name)
    _check_entry_at(index, entries, entry)
    check_position(to, entries, len(entries))
    if system == "windows" and any(_is_open(e) for e in entries):
        raise PathError(_("An entry has an opening quotation mark without a closing one; repair that entry first."))
    _insert(entries, between, entry, to, _take(entries, between, index))
    return _join_parts(entries, between)


def put_back(value: str, entry: str, index: int, model: str, system: System, *, name: str) -> str:
    """Return ``value`` with ``entry`` restored to its position in ``model`` (at ``index``), as closely as later edits
    allow.

    It goes after the nearest preceding entry that is still there, else before the nearest following one, else last. An
    entry with an open quote swallows all that follows it, so it goes last unless nothing else changed, and nothing is
    put behind such an entry.
    """
    old = split_entries(model, system, name)
    now, between = _entries_and_separators(value, system, name)
    if now == old[:index] + old[index + 1 :]:
        return model
    end = count_before_end(now, system)
    usual = list_separators(system, name)[0]
    if system == "windows":
        if _is_open(entry):
            _insert(now, between, entry, len(now), usual)
            return _join_parts(now, between)
        end -= bool(now) and _is_open(now[-1])
    place = next((now.index(e) + 1 for e in reversed(old[:index]) if e in now[:end]), None)
    if place is None:
        place = next((now.index(e) for e in old[index + 1 :] if e in now), end)
    _insert(now, between, entry, place, usual)
    return _join_parts(now, between)


def too_long(name: str, value: str, system: System) -> str:
    """Return a sentence if the system would refuse a variable of this length, else an empty text."""
    length = len(value) if system == "windows" else len(f"{name}={value}".encode("utf-8", "surrogateescape"))
    if length <= MAX_CHARACTERS[system]:
        return ""
    return _(
        "{name} would have {length} characters; this system allows at most {longest}.",
        name=name,
        length=format_number(length),
        longest=format_number(MAX_CHARACTERS[system]),
    )


def length_notes(name: str, value: str, system: System) -> tuple[str, ...]:
    """Return what a person should know about a long value that the system still takes (Windows only)."""
    if system != "windows":
        return ()
    rows = (
        (8_191, _("Command Prompt scripts can no longer extend it (their lines end at 8,191 characters)")),
        (2_047, _("older dialogs for environment variables cut it at 2,047 characters when somebody edits it there")),
        (1_024, _("the command setx would cut it at 1,024 characters; never use setx to change it")),
    )
    return tuple(
        _("{name} will have {count} characters: {words}.", name=name, count=format_number(len(value)), words=words)
        for limit, words in rows
        if len(value) > limit
    )
