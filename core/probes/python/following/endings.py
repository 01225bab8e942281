"""What is reported of an import that ends: what stands in the module's place, whose it is, and what is wrong with it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable

import msgspec

from core.knowledge.modules import KnownModule, distribution_of, module_of, module_table
from core.model.facts import DamagedFile, Distribution, EndedImport, path_text
from core.probes.python.following.dotted_modules import NONE, DottedModules, Module
from core.probes.python.installed.distributions import normalise_name
from core.probes.python.installed.gone_files import module_stem
from core.probes.python.installed.shared_modules import recorded_so
from core.probes.python.installed.unfit_extensions import Suspects, UnfitExtension
from core.probes.python.search.modules import ModuleSearch
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

CONFLICT = "<<<<<<< "
"""What git leaves in a file that a person must merge (git-merge(1))."""


class Endings:
    """Describes where imports of one environment end."""

    def __init__(
        self,
        search: ModuleSearch,
        distributions: tuple[Distribution, ...],
        where: Sysroot,
        found: DottedModules,
        suspects: Suspects,
    ) -> None:
        self._search, self._distributions, self._where, self._found = search, distributions, where, found
        self._unfit = {one.path: one for one in suspects.unfit}
        self._byte_code = {one.source or one.path: one for one in suspects.byte_code}
        self._gone = {module_stem(one.path): f"{one.distribution} {one.version}" for one in suspects.gone}
        self._odd = {one.path: f"{one.distribution} {one.version}" for one in suspects.odd}
        self._closed = {where.parent(d.path) for d in suspects.odd if where.entries(where.parent(d.path)) is None}
        """Folders that this user may not look into."""
        self._gone |= {f: self._odd[where.join(f, "__init__.py")] for f in self._closed}

    def describe(self, kind: str, importer: str, line: int, wanted: str, its: Module, name: str = "") -> EndedImport:  # noqa: PLR0917 - a row
        """Return the end of an import at a line of the importer; ``name``: what the module that was found lacks."""
        top = self._search.find(wanted.partition(".")[0])
        above, _dot, name_of_it = wanted.rpartition(".")
        places = self._found.find(above).folders if above else [e.path for e in self._search.search.entries]
        loser = self.package_that_lost(places, name_of_it) if kind == "absent" else ""
        owner, hidden = self._owner(wanted), next(iter(top.hidden), "")
        if kind == "absent" and not hidden and top.kind not in ("none", "namespace"):
            hidden = path_text(self._search.portion_with(wanted))
        behind = next(
            (d for d in self._distributions if module_of(d.name) == wanted.partition(".")[0] and hidden.startswith(d.location)), None
        )  # fmt: skip
        if kind == "absent":
            asked = (its.path, *(places if above else ()), *(self._where.join(p, name_of_it) for p in places))
            if closed := next((p for p in asked if self._may_not_enter(p)), ""):
                kind, its = "unreadable", Module("namespace", closed)
        ended = EndedImport(
            starts=(),
            importer=path_text(importer),
            line=line,
            asked_by=self._package_of(importer),
            wanted=wanted,
            kind=kind,  # type: ignore[arg-type]  # one of its words
            name=name,
            path=path_text(its.path or (top.path if top.kind != "none" else "")),
            entry=top.entry,
            owner=loser
            or self._odd.get(its.path, "")
            or self._odd.get(self._where.join(its.path, "__init__.py"), "")
            or (f"{owner.name} {owner.version}" if owner else "")
            or (
                self._package_of(its.path) if kind == "no parameter" else ""
            ),  # any package, among the distributions or not
            recorded=bool(loser),
            hidden=hidden,
            hidden_owner=f"{behind.name} {behind.version}" if behind and hidden else "",
        )
        byte_code = self._byte_code.get(its.path)
        if byte_code and (kind == "byte code" or (name and byte_code.state == "other text")):
            return msgspec.structs.replace(ended, path=path_text(byte_code.path))
        return _with_reason(ended, self._unfit[its.path]) if its.path in self._unfit else ended

    def _package_of(self, path: str) -> str:
        """Return name and version of the package that a file is of, by the folders of metadata beside it; empty where none bears its name."""
        inner = self._where.path_module.sep
        folder = next((e.path for e in self._search.search.entries if path.startswith(e.path + inner)), "")
        top = path[len(folder) + 1 :].partition(inner)[0].removesuffix(".py") if folder else ""
        wanted = normalise_name(distribution_of(top)) if top else ""
        for name in self._where.names(folder) or () if top else ():
            its, _dash, version = name.removesuffix(".dist-info").partition("-")
            if name.endswith(".dist-info") and normalise_name(its) == wanted:
                return f"{wanted} {version}"
        return ""

    def is_recorded(self, distribution: str) -> bool:
        """Whether a folder of the search path has the metadata of a distribution."""
        wanted = normalise_name(distribution)
        names = (n for e in self._search.search.entries for n in self._where.names(e.path) or ())
        stems = (n.rpartition(".")[0] for n in names if n.endswith((".dist-info", ".egg-info")))
        return any(normalise_name(stem.partition("-")[0]) == wanted for stem in stems)

    def at_extension(self, one: UnfitExtension) -> EndedImport:
        """Return the end at an extension module that no import was seen to come to."""
        its = Module("extension", one.path)
        return _with_reason(self.describe("unfit", "", 0, one.dotted, its), one)

    def at_lost_start(self, module: str, one: DamagedFile) -> EndedImport:
        """Return the end at a package whose own start is lost: the rest of its folder is imported as a namespace, and has nothing."""
        folder = self._where.parent(one.path)
        its = Module("namespace", folder) if self._where.is_folder(folder) else NONE
        ended = self.describe("absent", "", 0, module, its)
        return msgspec.structs.replace(ended, owner=f"{one.distribution} {one.version}")

    def at_missing_framework(self, row: KnownModule, distribution: Distribution, its: Module) -> EndedImport | None:
        """Return the end at a recorded framework that is not there; None for one that is recorded without a file: it was never meant to be."""
        record = read_record(distribution, self._where)
        editable = re.search(r"(?m)^(__editable__[^,\n]*\.pth|[\w.-]+\.pth),", record)
        if not editable and not re.search(rf"(?m)^{row.module}[/.]", record):
            return None
        gone = self._missing_editable_folder(distribution, editable[1]) if editable else ""
        if editable and not gone:
            return None  # its finder is no list of folders: nothing is known of where it leads
        return EndedImport(
            starts=(row.module,),
            importer="",
            line=0,
            wanted=row.module,
            kind="absent",
            path=path_text(gone or its.path),
            owner=f"{distribution.name} {distribution.version}",
        )

    def at_lost_project(self, its: Distribution) -> EndedImport | None:
        """Return the end at an editable installation none of whose folders is there; None for any other."""
        folders: list[str] = []
        for name in re.findall(r"(?m)^([\w.-]+\.pth),", read_record(its, self._where)):
            text = self._where.text(self._where.join(its.location, name)) or ""
            if re.match(r"import __editable__\w+_finder\b", text):
                folders += [p for p in (self._search.editable_paths.get(module_of(its.name)),) if p]
            else:
                lines = (line.strip() for line in text.splitlines())
                folders += [p for p in lines if self._where.path_module.isabs(p)]
        if not folders or any(self._where.stat(p) or self._where.stat(f"{p}.py") for p in folders):
            return None
        module = module_of(its.name)
        ended = self.describe("absent", "", 0, module, NONE)
        owner = f"{its.name} {its.version}"
        return msgspec.structs.replace(ended, path=path_text(folders[0]), owner=owner, entry=-1)

    def _missing_editable_folder(self, distribution: Distribution, name: str) -> str:
        """Return the folder that an editable installation leads to and that is not there."""
        text = self._where.text(self._where.join(distribution.location, name)) or ""
        if text.startswith(("import ", "import\t")):
            return next((p for p in self._search.editable_paths.values() if self._where.stat(p) is None), "")
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return next((p for p in lines if self._where.path_module.isabs(p) and not self._where.is_folder(p)), "")

    def package_that_lost(self, folders: Iterable[str], name: str) -> str:
        """Return name and version of the package that recorded a module of this name in one of the folders, and lost it."""
        join = self._where.join
        places = (module_stem(p) for f in folders for p in (join(f, name), join(f, name, "__init__")))
        return next((self._gone[p] for p in places if p in self._gone), "") if self._gone else ""

    def fault_of_content(self, dotted: str, its: Module, text: str) -> str:
        """Return in a word why a module's file is no module; empty for one that is, or may be."""
        if "\0" in text:
            return "damaged"
        if not text and self._is_unreadable(its):
            return "unreadable"
        if not text:
            return "empty" if self._is_truncated(dotted, its) else ""
        in_doubt = its.path in self._odd or text.startswith(CONFLICT) or f"\n{CONFLICT}" in text
        return "damaged" if in_doubt and not self._is_python(text) else ""

    def is_odd(self, path: str) -> bool:
        """Whether a module is shorter than recorded, or closed to this user."""
        return path in self._odd

    def is_closed(self, its: Module) -> bool:
        """Whether a package lies in a folder that this user may not look into: Python takes it for an empty namespace."""
        return its.kind == "namespace" and self._may_not_enter(its.path)

    def _may_not_enter(self, folder: str) -> bool:
        """Whether this user may not look into a folder, on the record's word or its own."""
        return folder in self._closed or (self._where.is_folder(folder) and self._where.entries(folder) is None)

    def _is_python(self, text: str) -> bool:
        """Whether a text can be compiled; also one for a newer Python than this one, which cannot tell."""
        if self._search.python > sys.version_info[:2]:
            return True
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
        except (RecursionError, MemoryError):
            return True
        return True

    def _is_unreadable(self, its: Module) -> bool:
        """Whether a file has content that this user may not read."""
        seen = self._where.stat(its.path) if its.path.endswith(".py") else None
        return seen is not None and seen.st_size > 0 and self._where.text(its.path, 1) is None

    def _is_truncated(self, dotted: str, its: Module) -> bool:
        """Whether a file of no bytes was recorded with some."""
        if not self._found.is_empty(its):
            return False
        if its.path in self._odd:
            return True
        owner = self._owner(dotted)
        if owner is None:
            return False
        spelt = "/".join(dotted.split(".")) + ("/__init__.py" if its.kind == "package" else ".py")
        record = read_record(owner, self._where)
        at = 0 if record.startswith(f"{spelt},") else record.find(f"\n{spelt},") + 1  # plain: TensorFlow's has 4 MB
        row = re.compile(r"[^\n]*,(\d{1,12})\r?(?:\n|\Z)").match(record, at)
        if not (record.startswith(f"{spelt},", at) and row and int(row[1])):
            return False
        return not recorded_so({its.path: 0}, self._distributions, self._where)

    def brings_along(self, importer: str, name: str) -> bool:
        """Whether the package of a module has another one of that name among its own files: its code adds their folder to sys.path."""
        owner = self._owner(importer)
        record = read_record(owner, self._where) if owner else ""
        return f"/{name}/" in record or f"/{name}.py," in record

    def _owner(self, dotted: str) -> Distribution | None:
        """Return the distribution that a module is of, by its name; the one that lies beside the module first."""
        top = dotted.partition(".")[0]
        mine = [
            d
            for d in self._distributions
            if module_of(d.name) in (top, dotted) or dotted.startswith(module_of(d.name) + ".")
        ]
        known = next((row for row in module_table().modules if row.module == top), None)
        if not mine and known:
            mine = [d for d in self._distributions if re.fullmatch(known.distributions, d.name)]
        path = self._found.find(top).path
        return next((d for d in mine if path.startswith(d.location + self._where.path_module.sep)), None)


def _with_reason(ended: EndedImport, one: UnfitExtension) -> EndedImport:
    """Add why an extension module does not load."""
    return msgspec.structs.replace(ended, edge=one.edge, recorded=one.recorded, owner=one.owner, path=one.path)
