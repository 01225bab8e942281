"""One way in which a start ends before its program runs, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from core.knowledge.causes import Cause
from core.model.facts import Start, StartedPython
from core.model.findings import Fix
from core.rules.frameworks.environment_view import EnvironmentView

Told = tuple[str, str, Fix]
"""Title, reason, and what to do."""


class End(msgspec.Struct, frozen=True):
    """What is told of one way to end."""

    describe: Callable[[EnvironmentView, Start, StartedPython], Told]
    cause: Cause = "process_env_not_inherited"
    everywhere: bool = False
    """Whether it is as severe as a fault of the environment, wherever the start is; else a warning near by, and a note elsewhere."""
