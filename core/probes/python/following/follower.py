"""Follow the imports of modules from file to file, as this environment's search finds them, to the import that fails.

Files are only read. Every statement that Python surely reaches is followed; functions and open conditions are ignored, so a
reported fault stops the real import, but other imports may fail, too. Of frameworks, which have ten megabytes of source, only
lines at the left margin are read; before a fault is reported, Python's own parser must confirm each of them.

Sources: https://docs.python.org/3/reference/import.html and Lib/importlib/_bootstrap.py of CPython, _handle_fromlist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from core.common.late_pattern import late_pattern
from core.knowledge.modules import NEED_TK, KnownModule, module_of, names_given_up
from core.model.facts import Distribution, EndedImport, path_text
from core.model.facts.closure import Edge
from core.model.facts.imports import PACKAGES
from core.probes.python.following.absence import Absence
from core.probes.python.following.dotted_modules import (
    DottedModules,
    Module,
    package_of,
)
from core.probes.python.following.endings import Endings
from core.probes.python.following.followed_frame import Ended, Frame, Steps
from core.probes.python.following.standard_importers import importers_in_python
from core.probes.python.following.statements import Statements
from core.probes.python.following.time_limit import TimeLimit
from core.probes.python.installed.distributions import normalise_name
from core.probes.python.installed.gone_files import module_stem
from core.probes.python.installed.unfit_extensions import NOTHING_SUSPECT, Suspects
from core.probes.python.programs.checkpoints import pickled_names
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.text.generated_code import SWITCHES, is_generated, refused_at
from core.probes.python.text.module_text import (
    attributes_of,
    behind_docstring,
    has_blocks,
    has_guard,
    imports_at_the_margin,
    imports_of,
    modules_bound,
)
from core.probes.sysroot import Sysroot

LIBRARY = late_pattern(r"\.(?:so|dll|pyd)\b")

PROTOBUF = "google.protobuf"


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("/", "\\")


class Follower:
    """The modules of one environment, each followed once."""

    def __init__(
        self,
        search: ModuleSearch,
        distributions: tuple[Distribution, ...],
        where: Sysroot,
        left: int,
        *,
        closed: frozenset[str] = frozenset(),
        only: frozenset[str] = frozenset(),
        whole: frozenset[str] = frozenset(),
        suspects: Suspects = NOTHING_SUSPECT,
        end: tuple[float, float] | None = None,
        known: Iterable[str] = (),
        calls: bool = False,
    ) -> None:
        self._search, self._distributions, self._where = search, distributions, where
        self._found = DottedModules(search, where, left)
        self._closed, self._only, self._whole = closed, only, whole
        """Modules at the top level: those that are followed elsewhere, of which only what others enter is read; if any, the only
        ones that are followed; and those of which every statement is read. Of all others the left margin is."""
        self.limit = TimeLimit(end)
        self._follows_calls = calls
        """Whether what a start calls is followed, too."""
        self._entered: dict[str, Ended | None] = dict.fromkeys(known)
        """Modules that were entered, each with where its import ends; ``known``: those that another follower came through."""
        self._start = ""
        self._first_start: dict[str, str] = {}
        """Files that were followed -> the module whose import came to them first."""
        self.endings = Endings(search, distributions, where, self._found, suspects)
        self._absence = Absence(search, where, self._found, self.endings)
        self._doing = Statements(search, distributions, where, self._found, self.endings, self._absence, self._entered)
        self._hidden = [imports_of(name) for name in suspects.hidden]
        self._unfit = {one.path for one in suspects.unfit}
        self._careful = {one.dotted.partition(".")[0] for one in suspects.unfit if one.owner and not one.is_library}
        self._careful |= {self._top_of(one.path) for one in (*suspects.gone, *suspects.odd)}
        self._found.of_other_text = {b.source: b.path for b in suspects.byte_code if b.state == "other text"}
        self._byte_code = {b.source or b.path for b in suspects.byte_code if b.state != "other text"}
        wanted = {*suspects.lacking, *suspects.hidden} - {*NEED_TK}
        wanted |= {one.dotted for one in suspects.unfit if not one.owner}
        self._found.lacking = frozenset(suspects.lacking)
        if calls:  # a program may put such a name back before it imports what asks for it
            python = [
                ("python", ".".join(map(str, search.python))),
                *([("posix", "0")] if where.system == "windows" else []),
            ]
            self._found.given_up = names_given_up([*python, *self._releases()])
        self._found.of_python = importers_in_python(wanted, search, where) if wanted else frozenset()

    def _releases(self) -> Iterator[tuple[str, str]]:
        """Yield name and version of what is installed, those that Python finds last first: only some are among the distributions."""
        yield from ((d.name, d.version) for d in self._distributions)
        for entry in reversed(self._search.search.entries):
            for info in (self._where.names(entry.path) or ()) if entry.origin in PACKAGES else ():
                name, dash, version = info.removesuffix(".dist-info").partition("-")
                if dash and info.endswith(".dist-info"):
                    yield normalise_name(name), version

    @property
    def followed(self) -> frozenset[str]:
        """The modules whose imports were followed to their ends, and do not fail."""
        return frozenset(name for name, ended in self._entered.items() if ended is None)

    @property
    def may_read(self) -> bool:
        """Whether more source may be read."""
        return self._found.left > 0

    def follow_framework(self, row: KnownModule, distribution: Distribution) -> EndedImport | None:
        """Return where the import of a framework ends; None where nothing shows that it does."""
        its = self._found.find(row.module)
        if its.kind in ("none", "namespace"):
            return self.endings.at_missing_framework(row, distribution, its)
        try:
            self._run(row.module)
            for name in row.code_imports:
                self._from_code(row.module, name)
        except Ended as e:
            return e.what
        return None

    def follow(self, start: str) -> EndedImport | None:
        """Return where the import of any module ends; None where nothing shows that it does."""
        try:
            self._run(start)
        except Ended as e:
            return e.what
        return None

    def end_at_pickle(self, path: str, text: str) -> EndedImport | None:
        """Return where a program loads a pickle that names a part of a package which the installed release does not have; None where nothing
        shows that.
        """
        for asked in pickled_names(path, text, self._where):
            parts = asked.module.split(".")
            above = [".".join(parts[:n]) for n in range(2, len(parts) + 1)]
            wanted = next((a for a in above if self._found.find(a).kind in ("none", "lacking")), "")
            its = self._found.find(wanted or asked.module)
            if self._found.find(parts[0]).kind != "package":
                continue
            if wanted and self._absence.is_surely_absent(wanted):
                ended = self.endings.describe("absent", asked.file, 0, wanted, its)
            elif its.kind in ("package", "module") and self._found.lacks(asked.module, its, asked.name):
                ended = self.endings.describe("no name", asked.file, 0, asked.module, its, asked.name)
            else:
                continue
            return msgspec.structs.replace(ended, call=asked.call, called_at=path_text(f"{path}:{asked.line}"))
        return None

    def import_that_opens(
        self, path: str, distribution: str, version: str, lacks: Edge | None = None
    ) -> tuple[EndedImport, str] | None:
        """Return the end at a library whose name a followed module of its package spells, and the start that led there.

        ``lacks``: what the library does not get; None for one that is lost itself.
        """
        name = self._where.name(path)
        spelt = re.compile(rf"{re.escape(name)}[\"']")
        tops = {self._top_of(path), module_of(distribution)}
        for by, start in self._first_start.items():
            text = self._found.texts.get(by, "")
            if not LIBRARY.search(name) and self._dotted(by) not in tops:
                continue  # a program that a package needs at its start is asked for there
            if name in text and self._top_of(by) in tops and spelt.search(text):
                edge = lacks or Edge(name=name, wanted_by=path_text(by), state="absent")
                ended = self.endings.describe("unfit", "", 0, self._dotted(by), Module("module", by))
                owner = f"{distribution} {version}"
                return msgspec.structs.replace(ended, edge=edge, recorded=lacks is None, owner=owner), start
        return None

    def _dotted(self, path: str) -> str:
        """Return the name by which a file of a package is imported."""
        # The longest one: Windows' Python searches the folder of the environment, too.
        entry = max((e.path for e in self._search.search.entries if _is_below(path, e.path)), key=len, default="")
        inner = module_stem(path)[len(entry) :].strip("/")
        return inner.removesuffix("/__init__").replace("/", ".")

    def _top_of(self, path: str) -> str:
        return self._dotted(path).partition(".")[0]

    def imported_by_code(self, framework: str, module: str) -> EndedImport | None:
        """Return where the import of a module ends whose name a framework has from elsewhere; None where nothing shows that it does."""
        try:
            self._from_code(framework, module)
        except Ended as e:
            return e.what
        return None

    def _from_code(self, framework: str, name: str) -> None:
        """Enter what a framework imports without a statement of that name."""
        if self._found.find(name).kind in ("none", "namespace", "foreign"):
            importer = self._found.find(framework).path
            ended = self.endings.describe("absent", importer, 0, name, self._found.find(name))
            raise Ended(ended, "ModuleNotFoundError")
        self._run(name)

    # --- one module after another -------------------------------------------------------------------------------------

    def _run(self, start: str) -> None:
        """Let modules do what they do, each as far as it asks for the next; on a stack of our own, since imports go deep.

        Raises:
            Ended: the import ends.
        """
        stack: list[tuple[Frame, Steps]] = []
        self._start = start
        sent, ended = self._begin(start, None, stack), None
        while stack and self._found.left > 0 and self.limit.allows_a_step():
            frame, steps = stack[-1]
            try:
                wanted = steps.throw(ended) if ended else steps.send(sent)  # type: ignore[arg-type]  # None begins one
                ended = None
            except (StopIteration, RecursionError):  # what is nested too deep to be read is left open
                stack.pop()
                sent, ended = True, None
                continue
            except Ended as e:
                stack.pop()
                self._entered[frame.name] = ended = e
                continue
            try:
                sent = self._begin(wanted, self._doing.asking, stack)
            except Ended as e:
                ended = e
        for frame, _steps in stack:
            del self._entered[frame.name]  # The limit came first.
        if ended is not None and not stack:
            raise ended

    def _begin(self, dotted: str, by: Frame | None, stack: list[tuple[Frame, Steps]]) -> bool | None:
        """Put a module on the stack, and return None; whether it can be followed where there is nothing to do.

        Raises:
            Ended: there is no such module, or none that can be imported.
        """
        if dotted in self._entered:
            if (ended := self._entered[dotted]) is not None:
                raise ended
            return True
        its, top = self._found.find(dotted), dotted.partition(".")[0]
        if its.kind == "extension" and its.path in self._unfit:
            raise self._doing.end("unfit", by, dotted, its)
        if (
            its.kind == "extension"
            and by
            and self._absence.is_in_the_way(its)
            and self._found.has_no_start(its, dotted)
        ):
            raise self._doing.end("no module", by, dotted, its)
        if (its.kind == "foreign" and by) or (its.kind == "lacking" and by):
            raise self._doing.end("foreign" if its.kind == "foreign" else "absent", by, dotted, its)
        if (
            its.kind == "none"
            and by
            and self._absence.is_surely_absent(dotted)
            and not self._absence.extends_path(by, dotted)
        ):
            raise self._doing.end("absent", by, dotted, its)
        if its.path in self._byte_code:
            raise self._doing.end("byte code", by, dotted, its)
        if its.kind not in ("package", "module") or its.path in self._found.of_other_text:
            return its.kind == "namespace" or its.path in self._found.of_other_text
        if self._only and top not in self._only:
            return True
        if top in self._closed and (by is None or by.name.partition(".")[0] in self._closed):
            return True
        self._entered[dotted] = None
        text = self._found.text(its)
        self._first_start.setdefault(its.path, self._start)
        if (by or self.endings.is_odd(its.path)) and (bad := self.endings.fault_of_content(dotted, its, text)):
            raise self._doing.end(bad, by, dotted, its)
        frame = Frame(dotted, its.path, package_of(dotted, its), text)
        if by and (at := self._refused_by_protobuf(dotted, text)) is not None:
            frame.at = at
            self._entered[dotted] = ended = self._doing.refused(frame, (PROTOBUF,), "TypeError")
            raise ended
        in_doubt = self._needs_a_parser(frame) if top in self._whole else bool(self._closed) and has_guard(text)
        in_doubt = in_doubt or any(line.search(text) for line in self._hidden)
        whole = self._is_read_with_care(dotted, its) or in_doubt
        its_way = self._doing.whole if whole else self._doing.margin
        stack.append((frame, self._doing.program(frame) if self._follows_calls and by is None else its_way(frame)))
        return None

    def _refused_by_protobuf(self, dotted: str, text: str) -> int | None:
        """Return where in a module the installed protobuf surely raises, since the module was generated for another release."""
        if not is_generated(dotted, text) or dotted.startswith(PROTOBUF) or self._search.search.any_protobuf:
            return None
        release = dict(self._releases()).get("protobuf", "")
        at = refused_at(text, release, compiled=self._found.find("google._upb._message").kind == "extension")
        others = (t for path, t in self._found.texts.items() if "protobuf" not in path) if at is not None else ()
        return None if any(name in t for t in others for name in SWITCHES) else at  # a module may set the variable

    def _needs_a_parser(self, frame: Frame) -> bool:
        """Whether a module does more than import, or names something that a module may lack: most do not, and parsing takes time."""
        if has_blocks(frame.text):
            return True
        names: dict[str, str] = {}
        for step in imports_at_the_margin(frame.text, behind_docstring(frame.text)):
            names |= modules_bound(step, frame.package)
        found = {name: (module, self._found.find(module)) for name, module in names.items()}
        known = {
            name: module
            for name, (module, its) in found.items()
            if its.kind in ("package", "module")
            or (its.kind == "standard" and self._absence.is_anothers(module, its, frame))
        }
        if any(self._found.is_loaded_late(*module.rpartition(".")[::2]) for module in known.values() if "." in module):
            return True
        named = attributes_of(frame.text, known)
        return any(self._absence.lacking_part(known[first], rest, frame, by_text=True) for first, *rest in named)

    def _is_read_with_care(self, dotted: str, its: Module) -> bool:
        """Whether imports in a try count, too: of packages with an extension module that does not load, of Python's own, and of a module
        in front of an installed one that has another text.
        """
        if dotted.partition(".")[0] in self._careful or self._absence.is_unlike_its_twin(its):
            return True
        entries = self._search.search.entries
        at = its.entry
        return bool(self._found.of_python) and 0 <= at < len(entries) and entries[at].origin == "standard library"
