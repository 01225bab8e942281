"""Which module a dotted name resolves to in one environment, and the text of that module; each is read once."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from itertools import islice, takewhile
from textwrap import dedent
from typing import NamedTuple

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import parsed
from core.model.facts.imports import BEFORE_THE_PACKAGES, PACKAGES
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.text.bound_names import (
    BoundNames,
    likely_names,
    may_bind,
    puts_back,
    read_names,
    sets_attribute,
    spells_its_names,
    stored_names,
)
from core.probes.python.text.compiled_names import CompiledModules, read_compiled
from core.probes.python.text.module_getattr import OwnGetattr, getattr_of_factory
from core.probes.python.text.module_text import absolute_name, binds_name, fills_modules
from core.probes.python.text.package_contents import MAX_FILE_BYTES, MAX_PACKAGE_BYTES, PackageContents
from core.probes.python.text.starred_words import Behind, StarredWords
from core.probes.sysroot import Sysroot

STANDARD = frozenset(sys.stdlib_module_names) | {"distutils", "imp", "asyncore", "asynchat", "smtpd", "binhex"}

STAR = late_pattern(r"(?m)^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+\*")
_END_OF_STAR = late_pattern(r"import[ \t]+\*")
"""A pattern that begins with a word is searched ten times as fast."""

ELSEWHERE = {"tensorflow.keras": ("keras._tf_keras.keras", "tf_keras")}
"""What TensorFlow from 2.16 on finds elsewhere, and the package that a variable may put in its place: tensorflow/__init__.py adds to its
``__path__``, and KerasLazyLoader in tensorflow/python/util/lazy_loader.py.
"""

LONG_NAME = 2
"""Letters of a name that a text does not have all over."""

_FOR_CHECKERS = late_pattern(r"(?m)^if TYPE_CHECKING\b[^:\n]*:")
_DERIVED = late_pattern(r"(?m)^[ \t]*class[ \t]+(\w+)\(([^():]*)\)")
_WORD = late_pattern(r"\w+")
_LAZY_PACKAGE = late_pattern(r"(?m)^[ \t]+sys\.modules\[__name__\] = _LazyModule\(")
_OF_A_STUB = late_pattern(r"(?m)^__getattr__, __dir__, \w+ = [\w.]*\battach_stub\(__name__, __file__\)")

MOST_STARS = 8
"""Maximum length of a chain of ``import *``."""

ALWAYS_THERE = frozenset(sys.builtin_module_names) | {"__main__"}
"""Modules that exist without a file."""


class Module(NamedTuple):
    """The module that a dotted name resolves to."""

    kind: str
    """package, module, namespace, extension, bytecode, standard, foreign, lacking or none."""
    path: str = ""
    folders: tuple[str, ...] = ()
    """Folders of its submodules: the package's own, or each one of a namespace."""
    entry: int = -1


NONE = Module("none")


class DottedModules:
    """The modules of one environment."""

    def __init__(self, search: ModuleSearch, where: Sysroot, left: int) -> None:
        self.search, self._where = search, where
        self.left = left
        """Bytes of source that may still be read."""
        self.lacking: frozenset[str] = frozenset()
        """Extension modules that the installed Python was built without."""
        self.given_up: frozenset[str] = frozenset()
        """Full names that the installed releases no longer have, as the tables know."""
        self.of_python: frozenset[str] = frozenset()
        """Modules of Python itself that are followed like any other."""
        self.of_other_text: dict[str, str] = {}
        """Sources that Python does not read -> the byte code that it takes, made from another text."""
        self.texts: dict[str, str] = {}
        self._filling: tuple[int, list[str]] = 0, []
        self._modules: dict[str, Module] = {}
        self._names: dict[str, BoundNames | None] = {}
        self._binds: dict[tuple[str, str], bool] = {}
        self._compiled = CompiledModules(where)
        self._likely: dict[str, frozenset[str]] = {}
        self._spelt: dict[str, bool] = {}
        self._starred: dict[str, list[str]] = {}
        self._says_lazy: dict[str, bool] = {}
        self._stars = StarredWords(self._behind)
        self._contents = PackageContents(where)
        self._lacks: dict[tuple[str, str], bool] = {}
        self._binds_nowhere: dict[tuple[str, str], bool] = {}
        self._classes: dict[str, list[tuple[str, frozenset[str], str, int]]] = {}
        """Packages -> their derived classes: the name, the words of the bases, the text, and where in it the class begins."""
        self._factories: dict[tuple[str, str], OwnGetattr | None] = {}

    def find(self, dotted: str) -> Module:
        """Return the module that a dotted name resolves to."""
        if dotted not in self._modules:
            parent, dot, name = dotted.rpartition(".")
            its = self._inner(self.find(parent), name) if dot else self._top(name)
            other, instead = ELSEWHERE.get(dotted, ("", "")) if its is NONE else ("", "")
            self._modules[dotted] = self.find(other) if other and self.find(instead) is NONE else its
        return self._modules[dotted]

    def _top(self, name: str) -> Module:
        found, entries = self.search.find(name), self.search.search.entries
        origin = self.search.search.origin(found.entry)
        if (name in self.lacking or name in self.given_up & STANDARD) and (
            origin in ("", "standard library") or found.kind == "namespace"
        ):
            return Module("lacking")
        if origin == "standard library" and name in self.of_python and found.kind in ("package", "module", "extension"):
            folder = self._where.parent(found.path)
            return Module(found.kind, found.path, (folder,) if found.kind == "package" else (), found.entry)
        if origin == "standard library" or (found.kind in ("none", "namespace") and name in STANDARD):
            return Module("standard")
        if name in ALWAYS_THERE:
            return Module("standard")
        if found.kind == "none":
            return self._foreign([e.path for e in entries], name)
        if found.kind == "package":
            return Module("package", found.path, (self._where.parent(found.path),), found.entry)
        if found.kind == "namespace":
            folders = [f for e in entries if self._where.is_folder(f := self._where.join(e.path, name))]
            folders += [self._where.parent(path) for path in found.hidden]
            return Module("namespace", found.path, tuple(folders), found.entry)
        return Module(found.kind, found.path, (), found.entry)

    def _inner(self, parent: Module, name: str) -> Module:
        spaces = []
        for folder in parent.folders:
            kind, path = self.search.find_in_folder(folder, name)
            if kind == "package":
                return Module(kind, path, (self._where.parent(path),), parent.entry)
            if kind == "namespace":
                spaces.append(path)
            elif kind:
                return Module(kind, path, (), parent.entry)
        if spaces:
            return Module("namespace", spaces[0], tuple(spaces), parent.entry)
        return self._foreign(parent.folders, name)

    def _foreign(self, folders: Iterable[str], name: str) -> Module:
        """Return an extension module of this name if all of them are for another Python, else NONE."""
        found = next((p for f in folders if (p := self.search.foreign_inside(f, name))), "")
        return Module("foreign", found) if found else NONE

    def submodules(self, dotted: str) -> list[str]:
        """Return the names of the Python files in a package's folders."""
        files = (n for f in self.find(dotted).folders for n in sorted(self._where.names(f) or ()))
        return [f"{dotted}.{n.removesuffix('.py')}" for n in files if n.endswith(".py") and n != "__init__.py"]

    # --- texts and names ----------------------------------------------------------------------------------------------

    def text(self, its: Module) -> str:
        """Return the source of a module; empty if it has none."""
        if its.kind not in ("package", "module") or not its.path.endswith(".py"):
            return ""
        if its.path not in self.texts:
            data = self._where.text(its.path, MAX_FILE_BYTES) or ""
            self.left -= len(data)
            self.texts[its.path] = data
        return self.texts[its.path]

    def is_filled_in(self, dotted: str) -> bool:
        """Whether a text that was read so far makes a module of this name importable itself; each is searched once."""
        searched, filling = self._filling
        new = islice(self.texts.values(), searched, None)
        filling += [text for text in new if fills_modules(text)]
        self._filling = len(self.texts), filling
        return any(s in text for text in filling for s in (f'"{dotted}"', f"'{dotted}'"))

    def binds(self, its: Module, name: str) -> bool:
        """Whether a package's own text binds the name to something other than its submodule of that name."""
        key = its.path, name
        if key not in self._binds:
            self._binds[key] = binds_name(self.text(its), name, self._where.name(next(iter(its.folders), "")))
        return self._binds[key]

    def is_loaded_late(self, module: str, name: str) -> bool:
        """Whether a package binds the name of a module in it to something that imports this very module when it is used."""
        its = self.find(module)
        text = self.text(its) if its.kind == "package" and self.find(f"{module}.{name}").path else ""
        if its.path not in self._says_lazy:
            self._says_lazy[its.path] = "lazy" in self.text(its).lower()
        if name not in text or not self._says_lazy[its.path]:
            return False
        spelt = re.escape(f"{module}.{name}")
        return bool(
            re.search(
                rf"(?mi)^@[\w.]*lazy\w*\([\"']{spelt}[\"']\)\r?\ndef {name}\(|^{name} = [\w.]*lazy\w*\([^)\n]*[\"']{spelt}[\"']\)",
                text,
            )
        )

    def lazy_home(self, module: str, its: Module, name: str) -> str:
        """Return the module that a package imports as soon as somebody takes this name of it, as its text tells type checkers; empty
        where it imports at once, or gives a stand-in because it lacks something.
        """
        text = self._stub(its) or (self.text(its) if its.kind == "package" else "")
        checked = _FOR_CHECKERS.search(text) if _LAZY_PACKAGE.search(text) else None
        if not checked and not self._stub(its):
            return ""
        at = checked.start() if checked else 0
        package = package_of(module, its)
        for found in re.finditer(
            rf"(?m)^[ \t]*from (\.[\w.]*) import (?:\*|\([^)]*\b{re.escape(name)}\b[^)]*\)|[^(\n]*\b{re.escape(name)}\b)",
            text[at:],
        ):
            dots, home = len(found[1]) - len(found[1].lstrip(".")), found[1].lstrip(".")
            asked = _availability_asked(text[at : at + found.start(1)])
            if asked is None or not all(
                self.find(_MODULE_ASKED.get(word, word)).kind in ("package", "module") for word in asked
            ):
                continue
            whole = absolute_name(dots, home, package)
            if not found[0].endswith("*") or self._defines(whole, name):
                return whole
        return ""

    def _stub(self, its: Module) -> str:
        """Return the text of the file beside a package that tells what each name of it is taken from, as it is asked for; empty for any other.

        Source: https://scientific-python.org/specs/spec-0001/, attach_stub() of lazy_loader.
        """
        asks = its.kind == "package" and _OF_A_STUB.search(self.text(its))
        return (self._where.text(its.path + "i", MAX_FILE_BYTES) or "") if asks else ""

    def names_of_stub(self, dotted: str) -> set[str]:
        """Return the names that the stub of a part of OpenCV tells, and those by which the methods of its classes are called besides; none for
        what has no stub. OpenCV's build makes its stubs of all that it binds.
        """
        folder = next(iter(self.find(dotted).folders), "") if dotted.startswith("cv2.") else ""
        tree = (
            parsed(self._where.text(self._where.join(folder, "__init__.pyi"), MAX_FILE_BYTES) or "") if folder else None
        )
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)] if tree else []
        methods = {f"{one.name}_{name}" for one in classes for name in stored_names(one.body)}
        return stored_names(tree.body) | methods if tree else set()

    def _defines(self, module: str, name: str) -> bool:
        """Whether a module defines a class or a function that a star import brings."""
        text = self.text(self.find(module))
        defined = re.search(rf"(?m)^(?:class|def) {re.escape(name)}\b", text)
        return bool(defined) and ("__all__" not in text or f'"{name}"' in text or f"'{name}'" in text)

    def names(self, its: Module) -> BoundNames | None:
        """Return the names in a module's text; None if it has no Python source."""
        if its.path not in self._names:
            text = self.text(its)
            self._names[its.path] = read_names(text) if text else None
        return self._names[its.path]

    def getattr_names(self, dotted: str, its: Module, names: BoundNames) -> frozenset[str] | None:
        """Return the names that a module's ``__getattr__`` may serve; None if unknown."""
        if names.is_open:
            return None
        if names.factory is None:
            return names.getattr_names
        maker = absolute_name(names.factory.dots, names.factory.module, package_of(dotted, its)) or dotted
        key = maker, names.factory.name
        if key not in self._factories:
            self._factories[key] = getattr_of_factory(self.text(self.find(maker)), names.factory.name)
        made = self._factories[key]
        if made is None or not made.serves_spelt_names_only:
            return None
        return (names.getattr_names - names.refused if made.refuses_none else names.getattr_names) | made.words

    def has_no_start(self, its: Module, dotted: str) -> bool:
        """Whether a library has no function that Python starts a module of this name with: it is no module.

        Source: https://peps.python.org/pep-0489/#export-hook-name; names that are not ASCII have another hook.
        """
        data = self._where.read(its.path, MAX_PACKAGE_BYTES) or b""
        name = dotted.rpartition(".")[2]
        return name.isascii() and 0 < len(data) < MAX_PACKAGE_BYTES and f"PyInit_{name}\0".encode() not in data

    def is_empty(self, its: Module) -> bool:
        """Whether a module's file is empty."""
        seen = self._where.stat(its.path)
        return seen is not None and seen.st_size == 0

    # --- names that a module lacks ------------------------------------------------------------------------------------

    def lacks(self, dotted: str, its: Module, name: str) -> bool:
        """Whether a module surely has no such name, and no other module sets it."""
        key = dotted, name
        if key not in self._lacks:
            found = not (name == "*" or name.startswith("__")) and self.binds_nowhere(dotted, its, name)
            self._lacks[key] = self._is_of_another_release(dotted, its, name) or (
                found
                and not self.is_filled_in(f"{dotted}.{name}")
                and (
                    self._is_lost(its, name)
                    or self._is_gone(dotted, its, name)
                    or not self.is_set_elsewhere(dotted, name)
                )
            )
        return self._lacks[key]

    def _is_of_another_release(self, dotted: str, its: Module, name: str) -> bool:
        """Whether an installed module is known to have the name in other releases alone, and no module read so far puts it back."""
        if f"{dotted}.{name}" not in self.given_up:
            return False
        installed = self.search.search.origin(its.entry) in PACKAGES
        return (its.kind == "standard" or installed) and not any(
            puts_back(text, dotted, name) for text in self.texts.values()
        )

    def _is_gone(self, dotted: str, its: Module, name: str) -> bool:
        """Whether a module says of a name that it was removed, and no module read so far puts it back: its own package does not."""
        names = self.names(its) if its.kind != "extension" else None
        if names is None or names.getattr is None or not names.getattr.declares_gone(name):
            return False
        return not any(puts_back(text, dotted, name) for text in self.texts.values())

    def _is_lost(self, its: Module, name: str) -> bool:
        """Whether the module that one in front hides binds the name by itself, so that no other module sets it, as far as was read."""
        twin = self.twin(its)
        text = (self._where.text(twin, MAX_FILE_BYTES) or "") if twin.endswith(".py") else ""
        if name not in text or any(sets_attribute(read, name) for read in self.texts.values()):
            return False
        names = read_names(text)
        return names is not None and name in names.bound

    def twin(self, its: Module) -> str:
        """Return the file that a module in front of the packages hides; empty where it is not in front, or hides none."""
        entries = self.search.search.entries
        if self.search.search.origin(its.entry) not in BEFORE_THE_PACKAGES:
            return ""
        inner = its.path[len(entries[its.entry].path) :].replace("\\", "/").strip("/").split("/")
        places = (self._where.join(e.path, *inner) for e in entries[its.entry + 1 :])
        return next((p for p in places if self._where.is_file(p)), "")

    def binds_nowhere(self, dotted: str, its: Module, name: str, depth: int = 0) -> bool:
        """Whether no text binds the name: not the module's, not one that it star-imports, not its ``__getattr__``."""
        if its.kind == "namespace":
            return True
        key = its.path, name
        if key not in self._binds_nowhere:
            self._binds_nowhere[key] = self._is_bound_nowhere(dotted, its, name, depth)
        return self._binds_nowhere[key]

    def _is_bound_nowhere(self, dotted: str, its: Module, name: str, depth: int) -> bool:
        if its.kind == "extension":
            return self._compiled.lacks(its.path, name)
        if its.path in self.of_other_text:
            data = self._where.read(self.of_other_text[its.path], MAX_PACKAGE_BYTES)
            return data is not None and name.encode() not in data
        text = self.text(its)
        if not text:
            return its.kind in ("module", "package") and its.path.endswith(".py") and self.is_empty(its)
        if stub := self._stub(its):
            names = None if may_bind(text, name) else read_names(stub)
            return names is not None and name not in names.bound
        if self._may_bind(its, name) or self._may_bring(dotted, its, name, depth):
            return False
        if name not in text and self._spells_its_names(its, text):
            starred = self._stars.left(its.path, self._stars_of(dotted, its), name)
            return all(self._star_lacks(star, name, depth) for star in starred)
        names = self.names(its)
        if names is None or name in names.bound:
            return False
        if names.getattr is not None and names.getattr.declares_gone(name):
            return True  # Python would not ask for a name that a star import brought
        stars = [absolute_name(dots, module, package_of(dotted, its)) for dots, module in names.stars]
        if not all(self._star_lacks(star, name, depth) for star in self._stars.left(its.path, stars, name)):
            return False
        if names.getattr is not None and names.getattr.refuses(name):
            return True
        handed = self.getattr_names(dotted, its, names)
        return self.occurs_nowhere(its, name) if handed is None else name not in handed

    def _may_bind(self, its: Module, name: str) -> bool:
        if len(name) >= LONG_NAME:
            return may_bind(self.text(its), name)
        if its.path not in self._likely:
            self._likely[its.path] = likely_names(self.text(its))
        return name in self._likely[its.path]

    def _spells_its_names(self, its: Module, text: str) -> bool:
        if its.path not in self._spelt:
            self._spelt[its.path] = spells_its_names(text)
        return self._spelt[its.path]

    def _stars_of(self, dotted: str, its: Module) -> list[str]:
        """Return the modules that a module's star imports spell; its text is searched once."""
        if its.path not in self._starred:
            text = self.text(its)
            spelt = [(s, s.lstrip(".")) for s in STAR.findall(text)] if _END_OF_STAR.search(text) else []
            package = package_of(dotted, its)
            self._starred[its.path] = [absolute_name(len(s) - len(module), module, package) for s, module in spelt]
        return self._starred[its.path]

    def _may_bring(self, dotted: str, its: Module, name: str, depth: int) -> bool:
        """Whether a star import may bring the name, by what the texts spell; Python's parser takes a hundred times as long."""
        if depth >= MOST_STARS or name.startswith("_"):
            return False
        for star in self._stars.left(its.path, self._stars_of(dotted, its), name):
            other = self.find(star) if star else NONE
            text = self.text(other)
            if self._may_bind(other, name) and ("__all__" not in text or f'"{name}"' in text or f"'{name}'" in text):
                return True
        return False

    def _behind(self, module: str) -> Behind:
        """Return what is known of a module behind a star, as far as it was read."""
        its = self.find(module) if module else NONE
        text = self.texts.get(its.path, "") if its.kind in ("package", "module") else ""
        is_closed = bool(text) and its.path not in self.of_other_text and self._spells_its_names(its, text)
        parts = [name for folder in its.folders for name in self.search.top_names(folder)]
        return Behind(text, self._stars_of(module, its) if text else [], parts, is_closed)

    def _star_lacks(self, module: str, name: str, depth: int) -> bool:
        """Whether a star import of this module does not bring the name."""
        its = self.find(module) if module and depth < MOST_STARS else NONE
        if its.folders and self.find(f"{module}.{name}").kind != "none":
            return False
        if its.kind == "standard" and "." not in module:
            path = self.search.find(module).path
            text = self._where.text(path, MAX_FILE_BYTES) if path.endswith(".py") else None
            names = read_names(text) if text else None
            if names is None or names.exported is not None:
                return names is not None and name not in (names.exported or ())
            return not (names.is_open or names.stars or name in names.bound)
        if its.kind not in ("package", "module", "extension"):
            return False
        if self._is_exported(its, name):
            return False
        if self.binds_nowhere(module, its, name, depth + 1):
            return True
        names = self.names(its) if its.kind != "extension" else None
        if names is None:
            return False
        private = name.startswith("_") and "__all__" not in self.text(its)
        return private or (names.exported is not None and name not in names.exported)

    def _is_exported(self, its: Module, name: str) -> bool:
        """Whether a module's ``__all__`` has the name: then a star import brings it, or ends itself."""
        text = self.text(its)
        if "__all__" not in text or not (f"'{name}'" in text or f'"{name}"' in text):
            return False
        names = self.names(its)
        return names is not None and names.exported is not None and name in names.exported

    # --- what the files of a package say ------------------------------------------------------------------------------

    def occurs_nowhere(self, its: Module, name: str) -> bool:
        """Whether no file of a package with a computed ``__getattr__`` contains the name, so that it cannot serve it; of one that serves
        what its files define or list, whether none does.
        """
        listed = _LAZY_PACKAGE.search(self.text(its))
        if its.kind != "package" or not re.fullmatch(r"[A-Za-z_]\w{4,}" if listed else r"[A-Za-z_]\w{5,}", name):
            return False
        word = re.compile(
            rf"[\"']{name}[\"']|(?m:^(?:class|def)[ \t]+{name}\b|^{name}\b)" if listed else rf"\b{name}\b"
        )
        spelt = name.encode()
        return not any(
            data is None or (name in data and word.search(data) if isinstance(data, str) else spelt in data)
            for data in self._contents.of(its.folders)
        )

    def classes_below(self, dotted: str, name: str) -> list[str]:
        """Return the texts of the classes of a whole package that are derived from one of this name."""
        top = dotted.partition(".")[0]
        if top not in self._classes:
            texts = (text for text in self._contents.of(self.find(top).folders) if isinstance(text, str))
            self._classes[top] = [
                (one[1], frozenset(_WORD.findall(one[2])), text, one.start())
                for text in texts
                for one in _DERIVED.finditer(text)
            ]
        below, found, left = {name}, list[str](), self._classes[top]
        while more := [one for one in left if below & one[1]]:
            left = [one for one in left if not below & one[1]]
            found += [_block(text, at) for _name, _bases, text, at in more]
            below |= {one[0] for one in more}
        return found

    def is_set_by_name(self, dotted: str, name: str) -> bool:
        """Whether a text of a whole package that gives objects attributes by their names spells this one."""
        texts = self._contents.of(self.find(dotted.partition(".")[0]).folders)
        spelt = f'"{name}"', f"'{name}'"
        return any(
            isinstance(text, str)
            and any(word in text for word in spelt)
            and any(way in text for way in ("setattr(", "__dict__", "__slots__"))
            for text in texts
        )

    def _knows_nothing_of(self, path: str, text: str, top: str) -> bool:
        """Whether a file of another installed package neither imports a package nor spells its name: it sets nothing there."""
        folder = next(
            (e.path for e in self.search.search.entries if e.origin in PACKAGES and self._is_in(path, e.path)), ""
        )
        if not folder or self._is_in(path, self._where.join(folder, top)):
            return False
        return top not in text or not re.search(rf"(?m)^[ \t]*(?:import|from)\b[^\n]*\b{top}\b|[\"']{top}\b", text)

    def _is_in(self, path: str, folder: str) -> bool:
        return path.startswith(folder + self._where.path_module.sep)

    def is_set_elsewhere(self, dotted: str, name: str) -> bool:
        """Whether a file of the package, or a module read so far, may set this name on the module from outside."""
        whole, spelt = dotted.partition(".")[0], name.encode()
        top = self.find(whole)
        if self.find(dotted).kind == "namespace":  # no text is its own; what is set on it is set by its whole name
            given = re.compile(rf"(?<![\w.]){re.escape(dotted)}\.{name}[ \t]*=(?!=)")
            return any(name in text and given.search(text) for text in self.texts.values())
        asks = re.compile(rf"(?m)^[ \t]*from[ \t]+{re.escape(dotted)}[ \t]+import\b[^\n]*\b{name}\b")
        quoted = re.compile(rf"[\"']{name}[\"']")
        reads = re.compile(rf"(?m)^\w+[ \t]*=[ \t]*{re.escape(dotted)}\.{name}[ \t]*$")

        handed_on = re.compile(rf"\([^()\n]*\bsys\.modules\[[\"']{re.escape(dotted)}[\"']\]")  # as tlz is, to be filled

        def sets(text: str) -> bool:
            if name in text and (read := reads.search(text)):
                text = text[: read.start()]  # What it sets later is too late for itself.
            # A module that also imports the name sets it in another branch, unless it calls hasattr() first.
            return sets_attribute(text, name) and not (asks.search(text) and not quoted.search(text))

        texts = (text for path, text in self.texts.items() if not self._knows_nothing_of(path, text, whole))
        return any(sets(text) for text in texts) or any(
            data is None
            or (
                sets_attribute(data, name) or ("sys.modules[" in data and handed_on.search(data) is not None)
                if isinstance(data, str)
                else len(name) > 5 and read_compiled(data).spells(spelt)
            )
            for data in self._contents.of(top.folders)
        )


def _block(text: str, at: int) -> str:
    """Return a statement with all lines below it that are indented further, as it would stand at the margin."""
    first, *lines = text[at:].splitlines()
    margin = len(first) - len(first.lstrip())
    inside = takewhile(lambda line: line[: margin + 1].isspace() or not line.strip() or line[margin] == ")", lines)
    return dedent("\n".join((first, *inside)))


_MODULE_ASKED = {"tf": "tensorflow", "vision": "PIL"}
"""Words of ``is_WORD_available()`` in transformers and diffusers that are not the module's name."""


def _availability_asked(above: str) -> list[str] | None:
    """Return the packages that must be available for a line in the ``else`` of a ``try`` to run; None for a line in
    a handler, where stand-ins are imported.

    ``above``: the text before the line, with the line's own indentation at its end.
    """
    lines = above.split("\n")
    indent = len(lines[-1]) - len(lines[-1].lstrip())
    for n in range(len(lines) - 2, -1, -1):
        plain = lines[n].strip()
        if plain and len(lines[n]) - len(lines[n].lstrip()) < indent:
            if plain.startswith("except"):
                return None
            before = "\n".join(lines[:n])
            return re.findall(r"\bis_(\w+)_available\(", before[before.rfind("try:") :]) if plain == "else:" else []
    return []


def package_of(dotted: str, its: Module) -> str:
    """Return the package that a module's relative imports refer to."""
    return dotted if its.kind == "package" else dotted.rpartition(".")[0]
