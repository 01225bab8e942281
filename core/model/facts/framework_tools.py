"""The framework_tools section: files that frameworks run or read by their names, as far as they cannot serve."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen

ToolState = Literal["absent", "dangling", "unreadable", "not executable", "noexec", "damaged", "wrong architecture"]
"""not executable: this user may not run it. noexec: its file system is mounted so. damaged: cut short, or not what it should be."""


class UnfitTool(Frozen, frozen=True, kw_only=True):
    """A file that a framework runs or reads, and that cannot serve it."""

    prefix: str
    """The environment."""
    reader: str
    """The distribution that runs or reads it."""
    name: str
    path: str
    """Where it is looked for first, or where the unfit one lies."""
    state: ToolState
    runs: bool
    """It is run as a program."""
    owner: str = ""
    """Name and version of the distribution that installed it; empty where none did."""
    detail: str = ""
    looked: tuple[str, ...] = ()
    """Every place where it may lie."""
    source: str = ""
    """How it is known that the reader uses it."""
