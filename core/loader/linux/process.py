"""A process as ld.so populates it: what each opened library brings in, what is missing, and what does not fit.

After glibc's elf/dl-open.c and dl-load.c: a name that is already loaded (as it was requested, or as DT_SONAME) is
reused, whoever asks; an open that lacks one file fails completely, and loads nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.loader.earlier_reads import earlier_or_new, lasting_identity, short_hash
from core.loader.linux.search import LibrarySearch, LoadedFile
from core.loader.symbols import Exports, Undefined, VersionTables, gnu_hash, undefined_symbols, version_tables
from core.model.facts import Attempt, How, Resolution, path_text
from core.model.facts.closure import Edge, EdgeState, Gap

GLIBC = late_pattern(
    r"(libc|libm|libdl|libpthread|librt|libutil|libresolv|ld-linux-[\w-]+|libstdc\+\+|libgcc_s|libgomp)\.so\.\d+"
)
"""Libraries that are judged only by their symbol versions."""

PYTHON_NAME = late_pattern(r"_?Py[A-Z_]|_Py")
"""Symbols that the interpreter itself exports."""

NVIDIA_NAME = late_pattern(
    r"(__)?(cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|cuFile|cupti|cutensor|nccl|ncclx|npp[is]|nvJitLink|nvjpeg|nvrtc|nvshmem)[A-Z_a-z]"
)
"""Prefixes of the functions in NVIDIA's libraries."""

EXECUTABLE_STACK = late_pattern(r"(?:^|:)glibc\.rtld\.execstack=2(?::|$)")
"""In GLIBC_TUNABLES: every program starts with an executable stack."""

MAX_FILES = 600
MAX_GAPS = 8


class LoadedLibrary:
    """A library in the process: the file, and how the search found it."""

    def __init__(self, file: LoadedFile, chain: Sequence[LoadedFile], taken: Attempt | None, name: str) -> None:
        self.file = file
        self.chain = (file, *chain)
        self.taken = taken
        self.name = name
        """The requested name."""


class Process:
    """The libraries of one process, in the order in which they were loaded."""

    def __init__(
        self,
        search: LibrarySearch,
        program: LoadedFile | None,
        is_executable: Callable[[str], bool] = lambda _path: True,
        *,
        has_executable_stack: bool = False,
    ) -> None:
        self._search = search
        self._program = (program,) if program else ()
        self._executable = is_executable
        self._exports: dict[str, Exports] = {}
        self._identities: dict[str, str] = {}
        self._versions: dict[str, VersionTables | None] = {}
        self.loaded: dict[str, LoadedLibrary] = {}
        """Path -> library."""
        self.reached: dict[str, None] = {}
        """Every file that an open reached, also if the open failed."""
        self._names: dict[str, str] = {}
        self.has_executable_stack = has_executable_stack

    def open(
        self, name: str, by: Sequence[LoadedFile] = (), *, optional: bool = False
    ) -> tuple[list[LoadedLibrary], list[Edge]]:
        """Open a library by path or name; return the libraries that it brings in, and its missing dependencies. If one
        is missing, nothing is loaded.
        """
        new: dict[str, LoadedLibrary] = {}
        names = dict(self._names)
        edges: list[Edge] = []
        chain = (*by, *self._program)
        queue: list[tuple[str, tuple[LoadedFile, ...]]] = [(name, chain)]
        while queue and len(new) < MAX_FILES:
            wanted, asked = queue.pop(0)
            if wanted in names:
                continue
            found = self._search.resolve(wanted, asked, first=True)
            taken = found.winner
            edge = self._edge(found, taken, asked, optional=optional)
            if edge:
                if not any((e.name, e.wanted_by) == (edge.name, edge.wanted_by) for e in edges):
                    edges.append(edge)
                continue
            assert taken is not None
            if taken.path in new or taken.path in self.loaded:
                names[wanted] = taken.path
                continue
            file = self._search.load(taken.path)
            library = LoadedLibrary(file, asked, taken, wanted)
            new[taken.path] = library
            names[wanted] = taken.path
            if file.image.soname:
                names.setdefault(file.image.soname, taken.path)
            queue += [(needed, library.chain) for needed in file.image.needed]
        self.reached |= dict.fromkeys(new)
        if not edges:
            self.loaded.update(new)
            self._names = names
        return list(new.values()), edges

    def _asks_in_vain(self, path: str) -> bool:
        """Whether a library asks for an executable stack and the C library refuses it to what a running program opens."""
        return self._search.load(path).image.executable_stack and self.refuses_executable_stacks

    @cached_property
    def refuses_executable_stacks(self) -> bool:
        """Whether dlopen fails for a library that asks for an executable stack: since glibc 2.41, unless the program has such a stack.

        Source: glibc's NEWS of 2.41; manual, Dynamic Linking Tunables, glibc.rtld.execstack.
        """
        libc = self._search.resolve("libc.so.6", self._program, first=True).winner
        its = version_tables(libc.path, root=self._search.policy.root) if libc else None
        has_one = any(one.image.executable_stack for one in self._program) or self.has_executable_stack
        return bool(its and "GLIBC_2.41" in its.offered) and not has_one

    def preload(self, names: str) -> None:
        """Open the libraries named in LD_PRELOAD, separated by spaces or colons, before all others; ld.so ignores those that it cannot open."""
        for name in re.split("[ :]+", names.strip()):
            for one in self.open(name)[0] if name else ():
                if one.taken and one.name == name and one.file.path in self.loaded:
                    one.taken = replace(one.taken, how=How.LD_PRELOAD)

    def _edge(
        self, found: Resolution, taken: Attempt | None, asked: Sequence[LoadedFile], *, optional: bool
    ) -> Edge | None:
        edge = partial(Edge, name=found.name, wanted_by=asked[0].path if asked else "", optional=optional)
        if taken is None:
            at, state = _skipped_file(found)
            path, detail = (at.path, at.detail) if at else ("", "")
            return edge(state=state, path=path, detail=detail, attempts=found.attempts[:40])
        if taken.outcome == "damaged":
            found = self._search.resolve(found.name, asked)  # with the symbols of libraries that are loaded later
            return edge(state="damaged", path=taken.path, detail=taken.detail, attempts=found.attempts[:40])
        if not self._executable(taken.path):
            return edge(state="not executable", path=taken.path)
        if self._asks_in_vain(taken.path):
            return edge(state="executable stack", path=taken.path)
        return None

    def library_at(self, path: str) -> LoadedLibrary | None:
        """Return the library that was loaded from a path, however the search spelt it."""
        wanted = posixpath.normpath(path)
        return next((one for its, one in self.loaded.items() if posixpath.normpath(its) == wanted), None)

    # --- symbols and versions -----------------------------------------------------------------------------------------

    def provider(self, name: str) -> LoadedLibrary | None:
        """Return the loaded library that satisfies a name."""
        path = self._names.get(name)
        return self.loaded.get(path) if path else None

    def unmet_versions(self, library: LoadedLibrary) -> list[Gap]:
        """Return the symbol versions that a loaded library requires of others and that they do not define."""
        tables = self._version_tables(library)
        gaps = []
        for want in tables.wanted if tables else ():
            provider = self.provider(want.library)
            its = self._version_tables(provider) if provider else None
            if provider and its and its.offered and want.version not in its.offered and not want.weak:
                gaps.append(self._gap(library, provider, "", want.version))
        return gaps[:MAX_GAPS]

    def _version_tables(self, library: LoadedLibrary) -> VersionTables | None:
        path = library.file.path
        if path not in self._versions:
            self._versions[path] = version_tables(path, root=self._search.policy.root)
        return self._versions[path]

    def unmet_symbols(self, library: LoadedLibrary, scope: Iterable[LoadedLibrary], *, everything: bool) -> list[Gap]:
        """Return the symbols that a loaded library requires and that no library in its scope exports.

        ``everything``: all of its symbols; else only NVIDIA's, recognised by their prefixes.
        """
        path, together = library.file.path, (library, *scope)
        identities = [self._identity(one.file.path) for one in together]
        beside = short_hash("\n".join(one.file.path for one in together).encode("utf-8", "surrogateescape"))
        left: tuple[Undefined, ...] | None = earlier_or_new(
            f"{__name__} {'all' if everything else 'GPU'} {path_text(path)} {beside}",
            " ".join(identities) if all(identities) else "",
            tuple[Undefined, ...],
            lambda: self._unmet_symbols(path, [one.file.path for one in together], None if everything else NVIDIA_NAME),
        )
        gaps = []
        for one in left or ():
            provider = self.provider(one.library or _family(one.name, library.file.image.needed))
            gaps.append(self._gap(library, provider, one.name, one.version))
        return gaps[:MAX_GAPS]

    def wants(self, path: str, named: re.Pattern[str]) -> bool:
        """Whether a library leaves a symbol with this prefix to others."""
        found: tuple[Undefined, ...] | None = earlier_or_new(
            f"{__name__} wants {named.pattern} {path_text(path)}",
            self._identity(path),
            tuple[Undefined, ...],
            lambda: (undefined_symbols(path, root=self._search.policy.root, named=named) or ())[:1],
        )
        return bool(found)

    def _unmet_symbols(
        self, path: str, scope: Iterable[str], named: re.Pattern[str] | None
    ) -> tuple[Undefined, ...] | None:
        """Return the symbols that no file in the scope exports; None if that cannot be determined."""
        root = self._search.policy.root
        undefined = undefined_symbols(path, root=root, named=named)
        if undefined is None:
            return None
        wanted = {u.name: u for u in undefined if not GLIBC.fullmatch(u.library) and not PYTHON_NAME.match(u.name)}
        left = {name: gnu_hash(name) for name in wanted}
        for one in scope:
            if not left:
                break
            if one not in self._exports:
                self._exports[one] = Exports(one, root)
            if self._exports[one].known:
                left = self._exports[one].not_exported(left)
            if not self._exports[one].known:
                return None
        return tuple(wanted[name] for name in left)

    def _identity(self, path: str) -> str:
        if path not in self._identities:
            self._identities[path] = lasting_identity(path, self._search.policy.root)
        return self._identities[path]

    def scope(self, roots: Iterable[LoadedLibrary]) -> list[LoadedLibrary]:
        """Return all loaded libraries that these depend on, directly or indirectly."""
        seen: dict[str, LoadedLibrary] = {}
        queue = list(roots)
        while queue:
            one = queue.pop()
            if one.file.path not in seen:
                seen[one.file.path] = one
                queue += [p for n in one.file.image.needed if (p := self.provider(n))]
        return list(seen.values())

    def _gap(self, library: LoadedLibrary, provider: LoadedLibrary | None, name: str, version: str) -> Gap:
        others: tuple[str, ...] = ()
        if provider and provider.name:
            found = self._search.resolve(provider.name, provider.chain[1:]).found
            own = posixpath.normpath(provider.file.path)
            others = tuple(dict.fromkeys(p for a in found if (p := posixpath.normpath(a.path)) != own))
        taken = provider.taken if provider else None
        return Gap(
            wanted_by=library.file.path,
            name=name,
            version=version,
            provider=provider.file.path if provider else "",
            how=str(taken.how) if taken and taken.how is not How.DIRECT else "",
            others=others,
        )


def _family(symbol: str, needed: Sequence[str]) -> str:
    """Return the needed library that exports one of NVIDIA's functions, judged by the function's name; empty if none does."""
    low = symbol.lstrip("_").lower()
    stems = {n.removeprefix("lib").partition(".so")[0].removesuffix("rt").lower(): n for n in needed if ".so" in n}
    fit = [stem for stem in stems if len(stem) > 3 and low.startswith(stem)]
    return stems[max(fit, key=len)] if fit else ""


def _skipped_file(found: Resolution) -> tuple[Attempt | None, EdgeState]:
    """Return the file that the loader skipped, and why; nothing for a name that was not found."""
    for at in found.attempts:
        if at.outcome == "unreadable":
            return at, "unreadable"
        if at.outcome == "wrong architecture":
            return at, "wrong architecture"
    dangling = next((a for a in found.attempts if a.outcome == "not there" and a.detail), None)
    return dangling, "dangling" if dangling else "absent"
