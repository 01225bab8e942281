"""Variables that are kept in memory, for tests."""

from __future__ import annotations

from collections.abc import Iterable

from core.model.changes import Change, EditPath, PersistentScope, SetVariable, Value
from core.model.facts import System


class MemoryWriter:
    """A machine's variables in memory, for tests and for trying a plan out."""

    def __init__(self, system: System, values: dict[tuple[str, PersistentScope, str], Value] | None = None) -> None:
        self.system: System = system
        self.values = dict(values or {})
        self.broadcasts = 0
        self.root = "/"

    def _key(self, name: str, scope: PersistentScope, at: str) -> tuple[str, PersistentScope, str]:
        return (name.upper() if self.system == "windows" else name, scope, at)

    def read(self, name: str, scope: PersistentScope, at: str) -> Value | None:
        """See Writer."""
        return self.values.get(self._key(name, scope, at))

    def write(self, name: str, scope: PersistentScope, at: str, value: Value | None) -> None:
        """See Writer."""
        if value is None:
            self.values.pop(self._key(name, scope, at), None)
        else:
            self.values[self._key(name, scope, at)] = value

    def write_obstacle(self, name: str, scope: PersistentScope, at: str) -> str:
        """See Writer."""
        return ""

    def needs_elevation(self, change: Change) -> bool:
        """See Writer."""
        return isinstance(change, SetVariable | EditPath) and change.scope == "machine"

    def programs_using(self, paths: Iterable[str]) -> tuple[str, ...]:
        """See Writer."""
        return ()

    def announce_change(self) -> None:
        """See Writer."""
        self.broadcasts += 1
