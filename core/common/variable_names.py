"""The names of variables: those of Windows have no case."""

from __future__ import annotations

from collections.abc import Mapping


def variable_in(env: Mapping[str, str], name: str, default: str = "") -> str:
    """Return a variable by its name, or by the same letters in another case: Windows knows "Path" and "PATH" as one."""
    if name in env:
        return env[name]
    return next((value for its, value in env.items() if its.upper() == name.upper()), default)
