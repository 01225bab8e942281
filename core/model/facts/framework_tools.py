"""The framework_tools section: files that frameworks run or read by name and that are unusable."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen

ToolState = Literal["absent", "dangling", "unreadable", "not executable", "noexec", "damaged", "wrong architecture"]
"""not executable: this user may not run it. noexec: its file system is mounted so. damaged: cut short, or not what it should be."""


class UnfitTool(Frozen, frozen=True, kw_only=True):
    """A file that a framework runs or reads, and that is missing or unusable."""

    prefix: str
    """The environment."""
    reader: str
    """The distribution that runs or reads it."""
    name: str
    path: str
    """The first path of the search, or the path of the unusable file."""
    state: ToolState
    runs: bool
    """It is run as a program."""
    owner: str = ""
    """Name and version of the distribution that installed it; empty where none did."""
    detail: str = ""
    looked: tuple[str, ...] = ()
    """Every path that is searched."""
    builds: bool = False
    """It is asked for only when the reader compiles, and the reader works without until then."""
    asked_by: str = ""
    """With ``builds``: a package that always compiles, or what a program in the folder of the person's programs spells that does;
    empty where nothing shows that anybody compiles. With ``package``: another distribution that requires the reader."""
    package: str = ""
    """The system's package that has the program; the reader does its work by it. Empty for everything else."""
    called: str = ""
    """The line of the person's program that needs it, "main.py:3", by calling the reader, which does not require it itself. ``asked_by``
    is what stands there."""
    opened: bool = False
    """It is a library that the program itself opens by ctypes."""
    model: Literal["", "cut", "empty", "page", "pointer", "objects", "paths", "newer", "keras-2"] = ""
    """It is a file of a model, of the person's and of no package. page: a web page or an answer in words. pointer: of Git LFS, without the file
    itself. objects: whole, but ``called`` loads it in a way that refuses its objects; ``detail`` is the class of one. paths: the same with a path of another system. newer: of a
    form that the reader does not know; ``detail`` is the newest that it knows. keras-2: with the layer ``name``, whose setting ``detail`` Keras 3
    does not take."""
    source: str = ""
    """The evidence that the reader uses it."""
