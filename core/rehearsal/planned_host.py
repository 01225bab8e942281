"""PlannedHost: the real host with the variables of a plan, so that probes see the planned machine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from core.host import activation_scripts
from core.host.windows.environment import compose_environment, renewed_values
from core.host.with_environment import HostWithEnvironment
from core.model.changes import Change, EditLine, EditPath, FileSet, SetVariable
from core.model.facts import Variable
from core.transaction.line_edit import planned_assignments, planned_texts, value_after

MOST_TEXT_BYTES = 64 << 10
"""Bytes of a file that gets another name and that probes may read: a program, a file of variables."""


def _small_text(path: str) -> str | None:
    """Return the text of a small file that a change would put elsewhere; None for anything else, such as a library."""
    with suppress(OSError, UnicodeDecodeError):
        its = Path(path)
        return its.read_text(encoding="utf-8") if its.stat().st_size <= MOST_TEXT_BYTES else None
    return None


class PlannedHost(HostWithEnvironment, frozen=True):
    """A Host whose variables are those after some changes; everything else is the real one's."""

    changes: tuple[Change, ...] = ()
    moved: Mapping[str, str] = {}
    """Folders whose files do not exist yet -> the folders that replace them in the rehearsal."""

    @property
    def planned(self) -> dict[str, str]:
        """The small texts that the changes would write."""
        sets = (c for c in self.changes if isinstance(c, FileSet))
        texts = {i.path: i.text for c in sets for i in c.items if i.text is not None}
        sets = (c for c in self.changes if isinstance(c, FileSet))
        renamed = (
            (i.path, _small_text(i.source)) for c in sets for i in c.items if i.after and i.source and i.text is None
        )
        texts |= {path: text for path, text in renamed if text is not None}
        if self.system == "linux":
            texts |= planned_assignments(self.changes)
        return texts | planned_texts(self.changes)

    @property
    def gone(self) -> frozenset[str]:
        """Paths that the changes would move aside."""
        sets = (c for c in self.changes if isinstance(c, FileSet))
        return frozenset(i.path for c in sets for i in c.items if not i.after)

    def variables(self) -> tuple[Variable, ...]:
        """The variables after the changes, and this process' own as a new program would get them."""
        kept = [v for v in map(self._planned_variable, self.host.variables()) if v is not None]
        new = (
            Variable(name=c.name, value=self._final_value(c.after.text), scope=c.scope, kind=c.after.kind, source=c.at)
            for c in self.changes
            if isinstance(c, SetVariable | EditPath)
            and c.scope != "environment"
            and c.before is None
            and c.after is not None
        )
        known = (
            *kept,
            *(v for v in map(self._planned_variable, new) if v is not None),
        )  # a later change starts from the result of an earlier one
        if self.system == "windows":
            sets = [c for c in self.changes if isinstance(c, SetVariable) and c.scope != "environment"]
            before = {c.name: c.before.text if c.before else None for c in reversed(sets)}
            mine = {v.name: v.value for v in known if v.scope == "process"}
            session = renewed_values(mine, before, compose_environment(known))
            ours = (Variable(name=n, value=v, source="environment") for n, v in session.items())
            return (*ours, *(v for v in known if v.scope != "process"))
        env = self.fresh_environment()
        ours = (Variable(name=n, value=v, source="environment") for n, v in env.items())
        return (*ours, *(v for v in known if v.scope != "process"))

    def _planned_variable(self, v: Variable) -> Variable | None:
        value: str | None = v.value
        for c in self.changes:
            if not isinstance(c, SetVariable | EditPath) or c.scope != v.scope or c.name.upper() != v.name.upper():
                continue
            if c.before is not None and c.before.text == value and c.at in ("", v.source):
                value = c.after.text if c.after else None
        if value is None:
            return None
        return Variable(name=v.name, value=self._final_value(value), scope=v.scope, kind=v.kind, source=v.source)

    def fresh_environment(self) -> dict[str, str]:
        """The variables of a newly started program."""
        if self.system == "windows":
            return compose_environment(self.variables())
        env = self.host.fresh_environment()
        for c in self.changes:
            if isinstance(c, EditLine) and (kept := value_after(c, env.get(c.name))) is not None:
                env[c.name] = kept
            elif isinstance(c, EditLine):
                env.pop(c.name, None)
            if not isinstance(c, SetVariable | EditPath):
                continue
            now, before, after = env.get(c.name), c.before, c.after
            if isinstance(c, SetVariable) and c.scope == "environment":
                now = activation_scripts.apply_steps(c.name, after.text, now) if after else now
            elif now == (before.text if before else None):
                now = after.text if after else None
            if now is None:
                env.pop(c.name, None)
            else:
                env[c.name] = self._final_value(now)
        return env

    def _final_value(self, value: str) -> str:
        for folder, overlay in self.moved.items():
            value = value.replace(folder, overlay)
        return value
