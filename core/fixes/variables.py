"""Stored values of variables, and the Changes to one of them. Pure; all fixes of variables use it."""

from __future__ import annotations

from collections.abc import Sequence

from core.host.activation_scripts import ACTIVATION_KIND
from core.model.changes import Change, EditLine, EditPath, PersistentScope, SetVariable, Value
from core.model.facts import Snapshot, System, Variable
from core.rules.consumer_loads import environment_rank


def persistent_values(snapshot: Snapshot, name: str) -> list[Variable]:
    """Return the stored values of a variable, without those that only a session has."""
    return [
        v
        for v in snapshot.variables
        if v.name.upper() == name.upper() and v.scope in ("user", "machine") and _is_editable(v, snapshot)
    ]


def effective_values(snapshot: Snapshot, name: str) -> list[Variable]:
    """Return the stored values that programs can get: on Windows a person's own hides the machine's, which others may need."""
    found = persistent_values(snapshot, name)
    own = [v for v in found if v.scope == "user"]
    return own if own and snapshot.machine.system == "windows" else found


def _is_editable(v: Variable, snapshot: Snapshot) -> bool:
    if snapshot.machine.system == "windows":
        return v.kind in ("REG_SZ", "REG_EXPAND_SZ") and "Volatile" not in v.source
    return is_kept_file(v.source) and "$" not in v.value


def is_kept_file(path: str) -> bool:
    """Whether a file of Linux is one of plain assignments, whose variables are changed as such."""
    return path == "/etc/environment" or (path.endswith(".conf") and "/.config/environment.d/" in path)


def scope_of(v: Variable) -> PersistentScope:
    """Return the scope of a stored variable."""
    return "user" if v.scope == "user" else "machine"


def place_of(v: Variable, system: System) -> str:
    """Return the file that stores it; empty for the registry."""
    return "" if system == "windows" else v.source


def value_of(v: Variable, system: System) -> Value:
    """Return the stored value in the form that a Change expects."""
    return Value(text=v.value, kind=v.kind if system == "windows" else "")


def persistent_path(snapshot: Snapshot, scope: str) -> Value | None:
    """Return the stored PATH of a scope; None if there is none."""
    found = next((v for v in persistent_values(snapshot, "PATH") if v.scope == scope), None)
    return Value(text=found.value, kind=found.kind) if found else None


def set_value(v: Variable, after: str | None, system: System) -> SetVariable:
    """Return the change that sets a stored variable to another value, or removes it."""
    before = value_of(v, system)
    new = None if after is None else Value(text=after, kind=before.kind)
    return SetVariable(name=v.name, scope=scope_of(v), at=place_of(v, system), before=before, after=new)


def in_single_scope(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes if one person can make all of them; a plan is the user's or the administrator's, never both."""
    scopes = {c.scope for c in changes if isinstance(c, SetVariable | EditPath | EditLine)}
    return tuple(changes) if len(scopes) <= 1 else ()


# --- environments --------------------------------------------------------------------------------------------------


def has_activation(snapshot: Snapshot, prefix: str) -> bool:
    """Whether an environment has an activation that Convalesce writes steps into (Linux: venv and conda)."""
    if snapshot.machine.system != "linux":
        return False
    return any(p.prefix == prefix and p.kind in ("venv", "conda") for p in snapshot.pythons or ())


def target_environments(snapshot: Snapshot) -> list[str]:
    """Return the environments that the person named, else those that are active, if they have an activation."""
    for wanted in (0, 1):
        found = [p.prefix for p in snapshot.pythons or () if environment_rank(snapshot, p.prefix) == wanted]
        if found:
            return [p for p in found if has_activation(snapshot, p)]
    return []


def activation_change(prefix: str, steps: str, name: str = "LD_LIBRARY_PATH") -> SetVariable:
    """Return the change that adds steps to an environment's own activation."""
    return SetVariable(
        name=name, scope="environment", at=prefix, before=None, after=Value(text=steps, kind=ACTIVATION_KIND)
    )
