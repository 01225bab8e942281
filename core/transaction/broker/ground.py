"""The broker's queries on the file system: who owns a folder, and who else can change it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from core.common.i18n import _
from core.host import ownership
from core.model.facts import System

LINUX_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local", "/lib", "/lib64", "/opt")
WINDOWS_FOLDERS = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
"""Variables of Windows that name the folders below which libraries are placed or put aside."""


class Ground(Protocol):
    """The queries of the predicates on the file system."""

    @property
    def system(self) -> System:
        """The system whose rules apply."""
        ...

    def kind(self, path: str) -> str:
        """Return the type of a path's target: folder, file, other or missing."""
        ...

    def changeable_part(self, path: str) -> str:
        """Return the first part of the path that an ordinary user can change; empty when there is none."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        ...

    def library_folders(self) -> tuple[str, ...]:
        """Return the folders below which the libraries of all users are."""
        ...

    def expand(self, entry: str) -> str:
        """Return an entry of a search path as programs get it."""
        ...

    def account_number(self, name: str) -> int:
        """Return the number of an account; -1 where there is none."""
        ...


@dataclass(frozen=True)
class RealGround:
    """The file system of the machine itself."""

    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    system: System = "windows" if sys.platform == "win32" else "linux"

    def kind(self, path: str) -> str:
        """See Ground."""
        try:
            last = ownership.who_can_write(path)[-1]
        except (OSError, ValueError):
            return "other"
        return last.kind

    def changeable_part(self, path: str) -> str:
        """See Ground."""
        return ownership.first_loose(path)

    def names(self, folder: str) -> tuple[str, ...]:
        """See Ground."""
        try:
            return tuple(sorted(p.name for p in Path(folder).iterdir()))
        except OSError:
            return ()

    def library_folders(self) -> tuple[str, ...]:
        """See Ground."""
        if self.system == "windows":
            return tuple(base for name in WINDOWS_FOLDERS if (base := self.env.get(name, "")))
        return LINUX_FOLDERS

    def expand(self, entry: str) -> str:
        """See Ground."""
        return os.path.expandvars(entry) if self.system == "windows" else entry

    def account_number(self, name: str) -> int:
        """See Ground."""
        if sys.platform == "win32":
            return -1
        import pwd

        try:
            return pwd.getpwnam(name).pw_uid
        except (KeyError, ValueError):
            return -1


def visible_text(text: str) -> str:
    """Return a text with invisible and direction characters escaped."""
    return "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)


def everybodys_folder_refusal(folder: str, name: str, ground: Ground, back: bool, *, below: bool = False) -> str:
    """Return why a folder must not be where everybody's programs look; ``back``: it may be missing, if it can only be
    made by an administrator. ``below``: programs look in its folders, too.
    """
    if not is_plain_path(folder, ground.system):
        return _(
            "{folder} is not the absolute, plain path of a folder; nothing else is added to {name}.",
            folder=visible_text(folder),
            name=name,
        )
    kind = ground.kind(folder)
    if kind != "folder" and not (back and kind == "missing"):
        return _(
            "{folder} is not an existing folder; nothing else is added to the {name} of all users.",
            folder=folder,
            name=name,
        )
    loose = ground.changeable_part(folder)
    if not loose and kind == "folder":
        inside = (folder.rstrip("/\\") + os.sep + n for n in ground.names(folder))
        seen = (f for f in inside if below or ground.kind(f) != "folder")
        loose = next((where for f in seen if (where := ground.changeable_part(f))), "")
    return loose and _(
        "{loose} can be changed by ordinary users, so {folder} must not be in the {name} of all users.",
        loose=loose,
        folder=folder,
        name=name,
    )


def is_plain_path(folder: str, system: System) -> bool:
    """Whether a text is a folder's full path that no program interprets in another way."""
    if not folder.isprintable() or any(c in folder for c in "%$\"'`" + ("\\" if system == "linux" else "")):
        return False
    names = re.split(r"[/\\]" if system == "windows" else "/", folder)
    if "." in names or ".." in names:
        return False
    if system == "windows":
        return bool(re.match(r"[A-Za-z]:[\\/]", folder)) and ":" not in folder[2:]
    return folder.startswith("/") and not folder.startswith("//") and ":" not in folder


def lies_below_base(folder: str, ground: Ground) -> bool:
    """Whether a folder is one where the system keeps the libraries of all users."""
    return any(base and lies_inside(folder, base) for base in ground.library_folders())


def lies_inside(folder: str, base: str) -> bool:
    """Whether a folder is another one or is in it, by the names that this machine compares."""
    place, top = os.path.normcase(folder) + os.sep, os.path.normcase(base).rstrip(os.sep) + os.sep
    return place.startswith(top)
