"""What a module surely lacks: a part that is nowhere, a name that it never binds.

Others may add to a module while a program runs; where something in the text may do so, nothing is said to be lacking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.common.late_pattern import late_pattern
from core.model.facts.imports import BEFORE_THE_PACKAGES
from core.probes.python.following.dotted_modules import DottedModules, Module
from core.probes.python.following.endings import Endings
from core.probes.python.following.followed_frame import Frame
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.text.module_text import EXTENDS_PATH, MAKES_MODULES
from core.probes.sysroot import Sysroot

_OWN_PART = late_pattern(r"(?m)^from \. import (\w+)[ \t]*$")
"""A part that a package imports for what its import does: tlz has one that serves its modules."""


class Absence:
    """What the modules of one environment lack."""

    def __init__(self, search: ModuleSearch, where: Sysroot, found: DottedModules, endings: Endings) -> None:
        self._search, self._where, self._found, self._endings = search, where, found, endings

    def has_twins(self) -> bool:
        """Whether a folder lies in front of the packages, so that a module in it may hide one of them."""
        return any(e.origin in BEFORE_THE_PACKAGES for e in self._search.search.entries)

    def is_unlike_its_twin(self, its: Module) -> bool:
        """Whether a module lies in front of the packages, and the one that it hides has another size."""
        twin = self._found.twin(its)
        mine, other = (self._where.stat(its.path), self._where.stat(twin)) if twin else (None, None)
        return mine is not None and other is not None and mine.st_size != other.st_size

    def extends_path(self, by: Frame, wanted: str) -> bool:
        """Whether a module, or a package that it is part of, adds to the search path as it is imported, or brings along what it wants."""
        if any(e.source == by.path for e in self._search.search.entries):
            return False  # a program, whose own additions are entries of its search
        parts = by.name.split(".")
        above = (self._found.text(self._found.find(".".join(parts[:n]))) for n in range(1, len(parts)))
        return any(EXTENDS_PATH.search(text) for text in (by.text, *above)) or (
            "." not in wanted and self._endings.brings_along(by.name, wanted)
        )

    def is_surely_absent(self, dotted: str) -> bool:
        """Whether nothing can bring a module of this name, as far as the texts that were read tell."""
        parent, dot, name = dotted.rpartition(".")
        if self._found.is_filled_in(dotted):
            return False
        if not dot:
            return not self._search.has_unknown_finders
        its = self._found.find(parent)
        if its.kind == "namespace" or self.is_gone(its, name):
            return True
        text = self._found.text(its)
        if its.kind == "module" and self.is_in_the_way(its):
            return not any(way in text for way in MAKES_MODULES)  # a file has no parts
        if its.kind != "package" or not text:
            return its.kind == "package" and self._found.is_empty(its)
        ways = [way for way in MAKES_MODULES if way in text]
        if any("meta_path" in self._found.text(self._found.find(f"{parent}.{m[1]}")) for m in _OWN_PART.finditer(text)):
            return False
        return not ways or (ways == ["sys.modules"] and not self._is_spelt(name, text))

    def may_be_made(self, dotted: str) -> bool:
        """Whether what has a folder without code, as cv2 has for its stubs, may be a module that other code makes: Python's, or compiled code
        beside it.
        """
        above = self._found.find(dotted.rpartition(".")[0]).folders
        compiled = (n for f in above for n in self._where.names(f) or () if n.endswith((".pyd", ".so")))
        return self._found.is_filled_in(dotted) or any(True for _name in compiled)

    def is_in_the_way(self, its: Module) -> bool:
        """Whether a module lies in a folder before the packages."""
        return self._search.search.origin(its.entry) in BEFORE_THE_PACKAGES

    def _is_spelt(self, name: str, text: str) -> bool:
        """Whether a package's text has the name of a module, or another module has it as the end of a string: an entry of sys.modules
        may be made of it.
        """
        ends = re.compile(rf"\b{re.escape(name)}[\"']")
        return bool(re.search(rf"\b{re.escape(name)}\b", text)) or any(
            name in other and ends.search(other) for other in self._found.texts.values()
        )

    def is_gone(self, parent: Module, name: str) -> bool:
        """Whether a package recorded a module of this name in the parent's folder, and it is not there."""
        return bool(self._endings.package_that_lost(parent.folders, name))

    def has_another(self, its: Module, name: str) -> bool:
        """Whether a package may have the name of a module that is gone from somewhere else."""
        names = self._found.names(its)
        return self._found.binds(its, name) or (names is not None and bool(names.stars))

    def lacking_part(
        self, module: str, names: Iterable[str], frame: Frame, *, by_text: bool = False
    ) -> tuple[str, str] | None:
        """Return the module on the way through attributes that surely lacks the next, and that; else None. ``by_text``: others may give it."""
        names = tuple(names)
        for name, further in zip(names, (*names[1:], ""), strict=True):
            its = self._found.find(module)
            if not self.is_anothers(module, its, frame) or name.startswith("__"):
                return None
            inner = self._found.find(f"{module}.{name}").kind if its.folders else "none"
            if inner != "none":
                told = self._found.names_of_stub(f"{module}.{name}") if inner == "namespace" else None
                if told and further and not further.startswith("_") and further not in told:
                    return f"{module}.{name}", further
                if inner == "namespace" or self._found.binds(its, name):
                    return None  # a folder without __init__ (of stubs, as cv2 has) need not be what the attribute is
                module = f"{module}.{name}"
                continue
            by_text = by_text and its.kind != "standard"  # which is told by the table, and has no text here
            lacks = self._found.binds_nowhere(module, its, name) if by_text else self._found.lacks(module, its, name)
            return (module, name) if lacks else None
        return None

    def is_anothers(self, module: str, its: Module, frame: Frame) -> bool:
        """Whether a module's names are asked for: not its own by itself, nor those of compiled code of the same package; of Python's own
        library, where this release has given some up.
        """
        if its.kind == "standard":
            return any(name.startswith(f"{module}.") for name in self._found.given_up)
        if its.kind == "extension":
            return module.partition(".")[0] != frame.name.partition(".")[0]
        return module != frame.name and its.kind in ("package", "module", "namespace")
