"""A module whose text is being followed, and how its import ends."""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable

import msgspec

from core.model.facts import EndedImport
from core.probes.python.following.callees import Class, Object, Scope
from core.probes.python.text.evaluation import Values

Steps = Generator[str, bool, bool]
"""What a module does: yields the modules that it enters, and is told whether each can be followed."""


MOST_CALLS = 200
"""Maximum number of calls of a module's own functions, at its left margin, that are followed."""


class Frame(msgspec.Struct):
    """A module whose text is being followed."""

    name: str
    path: str
    package: str
    """What its relative imports start from."""
    text: str
    at: int = 0
    """Where in the text of a framework the import stands that is being followed."""
    lines: list[int] = msgspec.field(default_factory=lambda: [0])
    """The line that is being followed; one with the frames of its functions and classes."""
    calls: list[int] = msgspec.field(default_factory=lambda: [0])
    """How many calls of its own functions were followed, one number like ``lines``."""
    modules: dict[str, str] = msgspec.field(default_factory=dict)
    """Names that stand for modules -> these."""
    late: dict[str, str] = msgspec.field(default_factory=dict)
    """Names that stand for modules which are loaded when something is taken of them -> these."""
    values: dict[str, object] = msgspec.field(default_factory=dict)
    """Names whose value is known."""
    functions: dict[str, ast.FunctionDef] = msgspec.field(default_factory=dict)
    releases: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Names whose value comes of the release of modules -> these."""
    refused: tuple[str, ...] = ()
    """The modules of whose releases Python came to the block that is being followed."""
    annotated: bool = True
    """Whether annotations are evaluated."""
    scope: Scope | None = None
    """What its module's names stand for, if calls are followed: in a program, and in what it calls."""
    is_program: bool = False
    """Whether its text is the person's own."""
    depth: int = 0
    """How many calls lead here from the program's own statements."""
    own: frozenset[str] = frozenset()
    """The local names of the function that is being followed."""
    instances: dict[str, Object] = msgspec.field(default_factory=dict)
    """Names that stand for an object -> what is known of it."""
    result: Object | None = None
    """What the function returns that is being followed."""
    passed_on: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Names of ``**`` parameters -> the keywords that the call put there."""
    owner: Class | None = None
    """The class that defines the method that is being followed."""

    @property
    def where(self) -> int:
        """The line that is being followed."""
        return self.lines[0] or self.text.count("\n", 0, self.at) + 1

    @property
    def known(self) -> Values:
        """What its names stand for."""
        return Values(self.modules, self.values, self.functions)

    def may_call(self) -> bool:
        """Count a call; return whether it is followed: functions that call each other twice would be followed without end."""
        self.calls[0] += 1
        return self.calls[0] <= MOST_CALLS

    def bind(self, name: str, module: str) -> None:
        """Let a name stand for a module."""
        self.forget([name])
        self.modules[name] = module

    def forget(self, names: Iterable[str]) -> None:
        """Let names stand for nothing that is known."""
        for name in names:
            for known in (self.modules, self.values, self.functions, self.releases, self.instances):
                known.pop(name, None)

    def inner(self, own: Iterable[str]) -> Frame:
        """Return the frame of a class or a function, whose own names are not the module's."""
        made = msgspec.structs.replace(
            self,
            modules=dict(self.modules),
            values=dict(self.values),
            functions=dict(self.functions),
            releases=dict(self.releases),
            instances=dict(self.instances),
        )
        made.forget(own)
        return made


class Ended(Exception):  # noqa: N818 - no error: the answer
    """The import ends."""

    def __init__(self, what: EndedImport | None, error: str) -> None:
        super().__init__(error)
        self.what = what
        """None where a module raises by itself."""
        self.error = error
        """The name of what Python raises; empty where it is not known."""
