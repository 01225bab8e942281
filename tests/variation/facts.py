"""One fact of a machine at a time: where facts lie in a Snapshot, what else they could be, and the machine with another."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from core.model.facts import Snapshot

Key = tuple[str, str]
"""A type and a field of it: facts of one key can stand for each other."""

SHORT = 100
"""Characters of a value's JSON beyond which it is named by a machine that has it."""


class Donor(NamedTuple):
    """A value as a place of another machine has it."""

    machine: str
    path: str


def facts_of(value: object, path: str = "") -> Iterator[tuple[str, Key, object]]:
    """Yield every fact of a Snapshot: its path ("cudnn[0].version"), its key and its value."""
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            inner = getattr(value, field)
            where = f"{path}.{field}" if path else field
            yield where, (type(value).__name__, field), inner
            yield from facts_of(inner, where)
    elif isinstance(value, tuple):
        for number, inner in enumerate(value):
            yield from facts_of(inner, f"{path}[{number}]")


class Alternatives:
    """What each fact could be: what it is on other machines, and what is next to it."""

    def __init__(self, machines: Mapping[str, Snapshot]) -> None:
        known: dict[Key, dict[str, Any]] = defaultdict(dict)
        for name, seen in machines.items():
            for path, key, value in facts_of(seen):
                plain = msgspec.to_builtins(value)
                text = json.dumps(plain, sort_keys=True)
                known[key].setdefault(text, plain if len(text) <= SHORT else Donor(name, path))
        self._known = known

    def of(self, key: Key, value: object) -> list[Any]:
        """Return other values for a fact: near ones first, then those of other machines."""
        plain = msgspec.to_builtins(value)
        text = json.dumps(plain, sort_keys=True)
        near = [v for v in _near(plain) if v != plain and len(json.dumps(v)) <= SHORT]
        return near + [v for t, v in self._known.get(key, {}).items() if t != text and v not in near]


def _near(value: Any) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1, 0)
        case str():
            yield ""
            if found := re.match(r"(\d+)(\..*)", value):
                yield from (f"{int(found[1]) + 1}{found[2]}", f"{int(found[1]) - 1}{found[2]}")
        case [first, *rest]:
            yield []
            if rest:
                yield from (rest, [first], value[:-1])


def _document(seen: Snapshot) -> Any:
    """Return a machine as JSON has it: with lists, which can be changed, in the place of tuples."""
    return msgspec.json.decode(msgspec.json.encode(seen))


def _place(document: Any, path: str) -> tuple[Any, Any]:
    *way, last = re.findall(r"\w+", path)
    for name in way:
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document, int(last) if isinstance(document, list) else last


def fact_at(seen: Snapshot, path: str) -> Any:
    """Return a fact as plain data."""
    place, name = _place(_document(seen), path)
    return place[name]


def with_fact(seen: Snapshot, path: str, value: Any) -> Snapshot:
    """Return a machine with another value in one place.

    Raises:
        LookupError, TypeError: there is no such place.
        msgspec.ValidationError: the value does not fit it.
    """
    document = _document(seen)
    place, name = _place(document, path)
    if isinstance(place, dict) and name not in place:
        raise KeyError(name)
    place[name] = value
    return msgspec.convert(document, Snapshot)
