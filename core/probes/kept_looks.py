"""Cached results, valid until a file or folder that was accessed changes, missing ones included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from core.common.decoding import ONE_AT_A_TIME
from core.common.fact_text import forms_in, remember_form
from core.loader.earlier_reads import MISSING, earlier_or_new, file_identity, short_hash
from core.loader.files import extended_path
from core.probes.sysroot import Sysroot

T = TypeVar("T")


class Kept(msgspec.Struct, frozen=True):
    """A cached result, and the places that it was read from."""

    found: msgspec.Raw
    places: tuple[str, ...]
    identity: str
    """Key of the state of all places; empty if one changed so recently that a further change might not show."""
    forms: tuple[tuple[str, dict[str, str]], ...] = ()
    """How each sentence in the result was composed, for its translation."""


class WatchedSysroot(Sysroot, frozen=True):
    """A Sysroot that records each place that is accessed."""

    places: dict[str, None] = msgspec.field(default_factory=dict)

    def local_path(self, path: str) -> str:
        """Return the path on the running system."""
        self.places[path] = None
        return super().local_path(path)


def kept_look(
    name: str,
    given: object,
    kind: Any,
    look: Callable[[Sysroot], tuple[T, bool]],
    where: Sysroot,
    *,
    known: dict[str, str] | None = None,
) -> T:
    """Return the result of ``look``, or an earlier one if the places that it was read from are unchanged.

    ``given``: all other input of the result, in a form that can be encoded. ``look`` also returns whether the result
    lasts: one that was cut short for lack of time does not. ``known``: the identities of places accessed earlier in
    this scan.
    """
    if not where.is_running_system or where.planned or where.gone:
        return look(where)[0]
    known = {} if known is None else known
    try:
        key = f"{name} {short_hash(msgspec.msgpack.encode(given))}"
    except UnicodeEncodeError:  # A file name that is not valid text cannot be stored.
        return look(where)[0]

    def read() -> Kept:
        watched = WatchedSysroot(system=where.system, root=where.root, places={})
        found, lasts = look(watched)
        places = tuple(watched.places)
        return Kept(
            msgspec.Raw(msgspec.msgpack.encode(found)),
            places,
            _identity(places, known) if lasts and _is_text(places) else "",
            tuple(forms_in(found)),
        )

    kept = earlier_or_new(
        key, name, Kept, read, lambda k: bool(k.identity), holds=lambda k: k.identity == _identity(k.places, known)
    )
    for message, values in kept.forms:
        remember_form(message, values)
    with ONE_AT_A_TIME:
        return msgspec.msgpack.decode(kept.found, type=kind)  # type: ignore[no-any-return]  # kind is T's


def _is_text(places: tuple[str, ...]) -> bool:
    """Whether all names are valid text."""
    try:
        "".join(places).encode()
    except UnicodeEncodeError:
        return False
    return True


def _identity(places: tuple[str, ...], known: dict[str, str]) -> str:
    """Return a key that differs for each state of all places of the running system; empty if one was changed too recently."""
    identities = []
    for place in places:
        if place not in known:
            try:
                known[place] = file_identity(extended_path(place))
            except (OSError, ValueError):
                known[place] = MISSING
        if not known[place]:
            return ""
        identities.append(known[place])
    return short_hash("\n".join(identities).encode())
