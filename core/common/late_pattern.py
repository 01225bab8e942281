"""A regular expression that is compiled on first use: most patterns are not needed in a run without faults."""

from __future__ import annotations

import re
from typing import Any, TypeVar, cast

T = TypeVar("T", str, bytes)


def late_pattern(pattern: T, flags: int = 0) -> re.Pattern[T]:
    """Return an object with the methods of ``re.compile(pattern, flags)``; ``re``'s own functions do not accept it.

    Compiling all patterns at import took a twentieth of the processor time of ``check``.
    """
    return cast("re.Pattern[T]", _Late(pattern, flags))


class _Late:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._how = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Compile, and remember the method that is asked for."""
        if name.startswith("__"):
            raise AttributeError(name)
        method = getattr(re.compile(*self._how), name)
        vars(self)[name] = method
        return method
