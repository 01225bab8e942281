"""Which framework asks for which cuDNN, and how it loads it: resources/knowledge/cudnn.json."""

from __future__ import annotations

from typing import Literal

from core.knowledge.tables import read_table
from core.model.facts import Frozen

LoadingMode = Literal["whole folder", "bare name", "altered search path", "added folders"]
"""How a framework comes to its libraries on Windows."""


class MajorSince(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """From release ``first`` on (until the next row), a framework wants this major."""

    first: str
    major: int


class FrameworkRow(Frozen, frozen=True, kw_only=True):
    """A framework's distribution (a pattern), its binaries relative to the folder of packages, and its majors."""

    distribution: str
    linux: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()
    windows_way: LoadingMode = "bare name"
    newest: str = ""
    """The newest release that was read, where no other table lists them."""
    majors: tuple[MajorSince, ...] = ()
    """A major of 0: from there on it wants none."""
    windows_majors: tuple[MajorSince, ...] = ()
    """The same where Windows differs."""
    source: str = ""


class RollCallCheck(Frozen, frozen=True, kw_only=True):
    """A function of the roll call, and the sub-library that answers it."""

    major: int
    function: str
    role: str


class CheckStatus(Frozen, frozen=True, kw_only=True):
    """A status that a VersionCheck may return."""

    major: int
    code: int
    name: str


class Zlibwapi(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """Releases for Windows that open zlibwapi.dll: ``first`` <= version < ``below``."""

    first: str
    below: str
    source: str = ""


class CudnnKnowledge(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/cudnn.json."""

    checks: tuple[RollCallCheck, ...]
    statuses: tuple[CheckStatus, ...]
    zlibwapi: Zlibwapi
    frameworks: tuple[FrameworkRow, ...]


def cudnn_knowledge() -> CudnnKnowledge:
    """Return what is known of cuDNN's functions and of the frameworks that load it."""
    return read_table("cudnn", CudnnKnowledge)
