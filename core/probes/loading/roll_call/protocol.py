"""Requests to and events from a roll call's child: the parent's side of ``core.probes.loading.roll_call.child``."""

from __future__ import annotations

from typing import Literal

from core.model.facts import Frozen, System


class LaterLibrary(Frozen, frozen=True, kw_only=True):
    """A library to load after the calls: its paths or bare names, of which the first that loads counts."""

    name: str
    """File name, for the result."""
    tries: tuple[str, ...]


class RollCallRequest(Frozen, frozen=True, kw_only=True):
    """The request to a child. Paths are the running system's."""

    system: System
    major: int
    main: str
    """A bare name or a full path."""
    preload: tuple[str, ...] = ()
    """Full paths that the consumer itself loads before."""
    folders: tuple[str, ...] = ()
    """Windows: folders that the consumer passes to add_dll_directory."""
    functions: tuple[str, ...] = ()
    parts: tuple[LaterLibrary, ...] = ()


class RollCallEvent(Frozen, frozen=True, kw_only=True):
    """One step of a child. ``begin`` precedes each ``call``; a begin without its call is where the child crashed."""

    kind: Literal["begin", "call", "loaded"]
    name: str = ""
    """begin: the function, or the file name of a part; call: the function, or "dlopen" or "LoadLibraryExW"; else a path."""
    library: str = ""
    result: int | None = None
    """The function's return value. For a load: 0, or the loader's error number on Windows, or None with ``problem``."""
    problem: str = ""
