"""Extension modules that an environment's interpreter finds but cannot load: judged by headers and the loader's search.

Nothing is loaded. The closures examine the binaries of frameworks; this module examines all other packages with
compiled code, and the extension modules of the installed Python.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.patience import is_silent
from core.knowledge.library_names import DRIVERS_OWN
from core.knowledge.modules import NEED_TK, SELDOM_BUILT, OpenedLibrary
from core.loader.linux.cache import CACHE_FILE
from core.loader.linux.process import EXECUTABLE_STACK, GLIBC, Process
from core.loader.linux.search import LibrarySearch, LoadedFile
from core.loader.read_image import read_image
from core.loader.symbols import Exports, gnu_hash, undefined_symbols, version_tables
from core.model.facts import DamagedFile, Distribution, PythonEnvironment, path_text
from core.model.facts.closure import Edge
from core.model.facts.imports import ByteCode
from core.model.path_list import LIBRARY_VARIABLE
from core.probes.kept_looks import kept_look
from core.probes.loading.asked_parts import opened_libraries
from core.probes.loading.closure import COMPILERS_OWN, GPU_LIBRARY
from core.probes.loading.effective_entries import effective_entries
from core.probes.loading.linux import consumer_policy
from core.probes.noexec import Noexec, is_noexec
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import all_requirements, normalise_name
from core.probes.python.installed.gone_files import STRIPPED_PATHS
from core.probes.python.installed.plugins import Plugin
from core.probes.python.programs.order_of_imports import comes_before, import_orders
from core.probes.python.programs.program_folder import own_programs
from core.probes.python.search.search_path import Interpreter
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import record_rows

LEFT_OUT = late_pattern(
    r"torch|torchvision|torchaudio|tensorflow.*|tf-nightly.*|jaxlib|jax-cuda.*|onnxruntime.*|ctranslate2|cupy.*|numpy"
    r"|paddlepaddle.*|mxnet.*|triton.*|xformers|bitsandbytes|flash-attn.*|tensorrt.*|llama-cpp-python|vllm"
)
"""Distributions whose own binaries the closures examine."""

LIBRARY_ROW = r"\.so(?:\.[\d.]+)*\"?,"
MAX_MODULES_OF_ONE = 400
MAX_LIBRARIES_OF_ONE, MAX_LEVELS = 8, 3
"""Libraries of one package that are examined, topmost first, and folders above each of these."""
MAX_TEXTS, MAX_TEXT_BYTES = 40, 256 << 10
"""Modules of a package that are searched for a library's name, and bytes read of each."""
ELF_BYTES = 0x40
"""Size of the header of a library of 64 bits."""
WANTED_BY_ALL = ("_ssl.", "_ctypes.pyd")
"""How the file names of Python's modules begin that package managers and downloads need, and on Windows every package with DLLs."""


class UnfitExtension(msgspec.Struct, frozen=True):
    """An extension module that cannot be loaded, or that its package recorded and that is missing."""

    path: str
    owner: str
    """Name and version of the distribution; empty for Python itself."""
    location: str
    """The folder that its dotted name is relative to."""
    edge: Edge | None = None
    """The unmet dependency; None for a missing file."""
    recorded: bool = False
    """The package itself installed the missing or unusable library."""
    ends: str = ""
    """The module whose import is known to fail without it, for a library that Python code opens."""
    is_library: bool = False
    """No module, but a library that Python code of the package names: an import ends that opens it."""
    provided_by: str = ""
    """The framework whose folder has a library of the missing one's name: the loader takes it if a program has imported that framework before."""
    is_every: bool = False
    """The package has several files for this module, of which its Python code takes one, and none of them loads."""

    @property
    def dotted(self) -> str:
        """The name by which Python imports it."""
        inner = self.path.removeprefix(self.location).replace("\\", "/").strip("/")
        return inner.partition(".")[0].replace("/", ".")


class Suspects(msgspec.Struct, frozen=True):
    """What ends an import that reaches it."""

    unfit: tuple[UnfitExtension, ...] = ()
    lacking: tuple[str, ...] = ()
    """Extension modules that the installed Python was built without."""
    gone: tuple[DamagedFile, ...] = ()
    """Files that a package recorded and that are missing."""
    hidden: tuple[str, ...] = ()
    """Standard-library modules that frameworks import and that another file hides."""
    byte_code: tuple[ByteCode, ...] = ()
    """What Python takes in the place of a source, or without one."""
    odd: tuple[DamagedFile, ...] = ()
    """Modules that are there and may give nothing: shorter than recorded, or closed to this user, as is what is in a closed folder."""


NOTHING_SUSPECT = Suspects()


def unfit_extensions(
    python: PythonEnvironment,
    interpreter: Interpreter,
    suffixes: tuple[str, ...],
    request: ProbeRequest,
    where: Sysroot,
    *,
    plugins: tuple[Plugin, ...] = (),
) -> tuple[UnfitExtension, ...]:
    """Return the extension modules that do not load."""
    if where.system == "windows":
        from core.probes.python.installed.unfit_extensions_windows import unfit_dlls

        return unfit_dlls(python, interpreter, suffixes, request, where)
    value = request.env.get(LIBRARY_VARIABLE, "")
    searched = effective_entries(LIBRARY_VARIABLE, value, where)
    its_path = value if "" in searched else ":".join(searched)  # an empty entry is the working folder
    policy = consumer_policy({LIBRARY_VARIABLE: its_path}, request.seen.machine, where)
    preloaded, tunables = request.env.get("LD_PRELOAD", ""), request.env.get("GLIBC_TUNABLES", "")
    opened = opened_libraries(request, where)

    def look(watched: Sysroot) -> tuple[tuple[UnfitExtension, ...], bool]:
        search = LibrarySearch(policy)
        program = search.program(python.executable) if python.executable else None
        loader = _Look(search, program if program and program.image.format == "ELF" else None, suffixes, watched)
        loader.preloaded, loader.tunables = preloaded, tunables
        found = _unfit(python, interpreter, loader, watched, plugins, opened)
        for path in (CACHE_FILE, python.executable, *search.looked_at):
            watched.local_path(path)  # The answer also depends on the files that the loader examines.
        return found, True

    places = (python.executable, python.site_packages, interpreter.base, interpreter.library, interpreter.short_version)
    mounts = tuple(is_noexec(folder, where) for folder in python.site_packages)
    given = (replace(policy, cache=()), preloaded, tunables, suffixes, places, mounts, opened, plugins)
    known = request.shared.setdefault("identities", {})
    found = kept_look("unfit", given, tuple[UnfitExtension, ...], look, where, known=known)
    if not any(u.provided_by for u in found):
        return found
    orders = import_orders(p.text for p in own_programs(request, where))
    every = tuple(d for folder in python.site_packages for d in all_requirements(folder, where))

    def is_met(one: UnfitExtension) -> bool:
        top = one.dotted.partition(".")[0]
        return bool(one.provided_by) and not any(
            comes_before(top, one.provided_by, order, every, where) for order in orders
        )

    return tuple(u for u in found if not is_met(u))


def _unfit(  # noqa: PLR0917 - what unfit_extensions has
    python: PythonEnvironment,
    interpreter: Interpreter,
    look: _Look,
    where: Sysroot,
    plugins: tuple[Plugin, ...],
    table: tuple[OpenedLibrary, ...],
) -> tuple[UnfitExtension, ...]:
    # conda's libraries, and those of some wheels, lie there: they are no Python modules.
    beside = where.join(python.prefix, "lib")
    found = [*look.not_elsewhere(look.of_python(interpreter), python.site_packages, beside)]
    opened: list[UnfitExtension] = [one for plugin in plugins for one in look.of_plugin(plugin)]
    known: set[str] = set()
    for folder in python.site_packages:
        for name in where.names(folder) or ():
            what = _distribution(folder, name)
            if what is None or what.name in known:
                continue
            known.add(what.name)  # If two have one name, Python imports the first.
            if what.name.startswith("nvidia-"):  # some are packages with modules: DALI, nvImageCodec
                its = look.not_elsewhere(look.of_distribution(what), python.site_packages, beside)
                found += _chosen(its, look.files_of_modules(what))
            elif LEFT_OUT.fullmatch(what.name):
                found += look.of_framework(what)
            else:
                cut = tuple(look.of_cut_libraries(what))
                rest = (u for u in look.of_libraries(what) if u.path not in {c.path for c in cut})
                all_of_it = (*look.of_distribution(what), *cut, *rest)
                its = look.not_elsewhere(all_of_it, python.site_packages, beside)
                found += _chosen(its, look.files_of_modules(what))
                for row in table:
                    if row.is_of(what.name, what.version):
                        opened += look.of_opened(row, what, python.site_packages)
    return (*opened, *found)


def _distribution(folder: str, entry: str) -> Distribution | None:
    spelt = re.fullmatch(r"([A-Za-z0-9][\w.]*)-([^-]+)\.dist-info", entry)
    return Distribution(name=normalise_name(spelt[1]), version=spelt[2], location=folder) if spelt else None


def _chosen(unfit: Iterable[UnfitExtension], files: Mapping[str, int]) -> Iterator[UnfitExtension]:
    """Leave out a file that does not load where another of the same module does; of several that do not, give the first.

    ``files``: how many files each module has, by its dotted name.
    """
    several: dict[str, list[UnfitExtension]] = {}
    for one in unfit:
        if files.get(one.dotted, 0) < 2:
            yield one
        else:
            several.setdefault(one.dotted, []).append(one)
    for dotted, its in several.items():
        if len(its) == files[dotted]:
            yield replace(its[0], is_every=True)


class _Look:
    """The loader's search of one environment."""

    def __init__(
        self, search: LibrarySearch, program: LoadedFile | None, suffixes: tuple[str, ...], where: Sysroot
    ) -> None:
        self.preloaded = ""
        """The value of LD_PRELOAD."""
        self.tunables = ""
        """The value of GLIBC_TUNABLES."""
        self._search, self._program, self._where = search, program, where
        self._noexec = Noexec(where)
        self._tagged = tuple(s for s in suffixes if s != ".so")
        self._libraries: dict[str, tuple[str, ...]] = {}

    def of_python(self, interpreter: Interpreter) -> Iterator[UnfitExtension]:
        """Yield the extension modules of the installed Python."""
        folder = self._where.join(
            interpreter.base, interpreter.library, f"python{interpreter.short_version}", "lib-dynload"
        )
        for name in self._where.names(folder) or ():
            if name.endswith(self._tagged) and "test" not in name:
                yield from self._of_file(self._where.join(folder, name), "", folder, {}, self._process())

    def of_distribution(self, what: Distribution) -> Iterator[UnfitExtension]:
        """Yield those of one distribution, in the order of its RECORD."""
        rows = record_rows(what, LIBRARY_ROW, self._where)
        process, owner = self._process(), f"{what.name} {what.version}"
        recorded = {self._where.name(path): path for path in rows}
        for path in self._modules(rows, what):
            if self._where.stat(path) is None:
                if not is_silent(self._where.local_path(path)):  # a slow disk has lost nothing
                    yield UnfitExtension(path_text(path), owner, what.location, recorded=True)
            else:
                yield from self._of_file(path, owner, what.location, recorded, process)

    def of_framework(self, what: Distribution) -> Iterator[UnfitExtension]:
        """Yield those of a framework whose own file does not load: a glance at its header is enough to let most go."""
        rows = record_rows(what, LIBRARY_ROW, self._where)
        unsound = [p for p in self._modules(rows, what) if not self._is_sound(p) and self._where.exists(p)]
        process = self._process()
        for path in unsound:
            for edge in (e for e in process.open(path)[1] if path in (e.name, e.path)):
                yield UnfitExtension(path_text(path), f"{what.name} {what.version}", what.location, edge, recorded=True)

    def _is_sound(self, path: str) -> bool:
        """Whether a file begins as a library for the interpreter's processor and is as long as its header says: see elf(5)."""
        begin, seen = self._where.read(path, ELF_BYTES) or b"", self._where.stat(path)
        own = self._where.read(self._program.path, ELF_BYTES) or b"" if self._program else begin
        sections = int.from_bytes(begin[0x28:0x30], "little")
        return begin[:5] == b"\x7fELF\2" and begin[18:20] == own[18:20] and bool(seen and sections <= seen.st_size)

    def of_cut_libraries(self, what: Distribution) -> Iterator[UnfitExtension]:
        """Yield the libraries that are shorter than recorded, and that nobody can open: they end before their
        sections, or have no header.
        """
        rows = record_rows(what, LIBRARY_ROW, self._where)
        for path, row in rows.items():
            inner = path.removeprefix(what.location)
            if self._is_module(path, what) or not row.size or STRIPPED_PATHS.search(inner):
                continue
            seen = self._where.stat(path)
            if seen and seen.st_size < row.size and self._where.is_file(path) and not self._is_sound(path):
                begin = self._where.read(path, 4)
                if begin is not None and (begin == b"\x7fELF" or not begin.strip(b"\0")):
                    edge = Edge(name=path_text(path), wanted_by=path_text(path), state="damaged", path=path_text(path))
                    yield UnfitExtension(
                        path_text(path), f"{what.name} {what.version}", what.location, edge, recorded=True
                    )

    def of_libraries(self, what: Distribution) -> Iterator[UnfitExtension]:
        """Yield the libraries beside a package's modules that do not load, if its Python code spells their names."""
        rows = record_rows(what, LIBRARY_ROW, self._where)
        names = {path: path.removeprefix(what.location).strip("/") for path in rows}
        plain = [
            p for p in rows if not p.endswith(self._tagged) and "/" in names[p] and names[p].count("/") <= MAX_LEVELS
        ]
        plain = [
            p
            for p in plain
            if ".libs/" not in names[p] and not STRIPPED_PATHS.search(names[p]) and self._where.is_file(p)
        ]
        process, loads, unfit = self._process(), set[str](), list[UnfitExtension]()
        for path in sorted(plain, key=lambda p: (p.count("/"), p))[:MAX_LIBRARIES_OF_ONE]:
            every = process.open(path)[1]
            edges = [e for e in every if path in (e.name, e.path) or (e.state == "absent" and not _left_to_others(e))]
            itself = any(path in (e.name, e.path) for e in edges)
            own = [e for e in edges if self._where.name(e.name) in {self._where.name(p) for p in rows}]
            if not edges:
                loads.add(self._where.name(path))
            elif itself or not own:  # a library of the package itself: what opens this one may open that one first
                owner = f"{what.name} {what.version}"
                unfit.append(UnfitExtension(path_text(path), owner, what.location, edges[0], itself, is_library=True))
        spelt = names_spelt_by(what, {self._where.name(one.path) for one in unfit} - loads, self._where)
        yield from (one for one in unfit if self._where.name(one.path) in spelt)

    def files_of_modules(self, what: Distribution) -> Counter[str]:
        """Return how many files a distribution has for each extension module: ``MPI.mpich.so`` and ``MPI.openmpi.so`` are of one."""
        paths = self._modules(record_rows(what, LIBRARY_ROW, self._where), what)
        return Counter(UnfitExtension(path_text(p), "", what.location).dotted for p in paths)

    def _modules(self, rows: Iterable[str], what: Distribution) -> list[str]:
        return [p for p in rows if self._is_module(p, what)][:MAX_MODULES_OF_ONE]

    def of_opened(self, row: OpenedLibrary, what: Distribution, folders: tuple[str, ...]) -> Iterator[UnfitExtension]:
        """Yield the library that a package's Python code opens, if neither the package's nor the system's copy loads."""
        module = self._where.join(what.location, *row.module.split("."))
        start = self._where.join(module, "__init__.py")
        asker = path_text(start if self._where.is_file(start) else f"{module}.py")
        own = [path for pattern in row.files for folder in folders for path in self._matching(pattern, folder)]
        unfit: list[Edge] = []
        for path in own:
            edges = [e for e in self._process().open(path)[1] if not _left_to_others(e)]
            if not edges:
                return
            unfit.append(edges[0])
        for name in row.others:
            _opened, edges = self._process().open(name)
            if not edges:
                return
            unfit += [replace(edges[0], wanted_by=asker, by_name=True)]
        lost = [p for p in self._recorded(row, what) if self._where.stat(p) is None]
        if lost and not own:
            unfit = [Edge(name=self._where.name(lost[0]), wanted_by=asker, state="absent")]
        if unfit:
            owner = f"{what.name} {what.version}"
            yield UnfitExtension(asker, owner, what.location, unfit[0], recorded=bool(lost), ends=row.module)

    def of_plugin(self, plugin: Plugin) -> Iterator[UnfitExtension]:
        """Yield the libraries of a plug-in's package that its first modules spell and that do not load, as the end of the framework's import."""
        what = plugin.distribution
        package = self._where.join(what.location, *plugin.module.split(".")[:1])
        names = [n for n in self._where.names(package) or () if n.endswith(".py")][:MAX_MODULES_OF_ONE]
        texts = "\n".join(self._where.text(self._where.join(package, n), MAX_TEXT_BYTES) or "" for n in names)
        rows = record_rows(what, LIBRARY_ROW, self._where)
        recorded = {self._where.name(path): path for path in rows}
        for path in [p for p in rows if re.search(rf"{re.escape(self._where.name(p))}[\"']", texts)]:
            for one in self._of_file(path, f"{what.name} {what.version}", what.location, recorded, self._process()):
                yield msgspec.structs.replace(one, ends=plugin.framework)

    def _matching(self, pattern: str, folder: str) -> list[str]:
        *inner, name = pattern.split("/")
        place = self._where.join(folder, *inner)
        return [self._where.join(place, n) for n in fnmatch.filter(self._where.names(place) or (), name)]

    def _recorded(self, row: OpenedLibrary, what: Distribution) -> list[str]:
        rows = record_rows(what, LIBRARY_ROW, self._where)
        return [p for p in rows for f in row.files if fnmatch.fnmatchcase(p, self._where.join(what.location, f))]

    def _process(self) -> Process:
        stack = bool(EXECUTABLE_STACK.search(self.tunables))
        made = Process(self._search, self._program, self._noexec.allows, has_executable_stack=stack)
        made.preload(self.preloaded)
        return made

    def _is_module(self, path: str, what: Distribution) -> bool:
        """Whether a file's name is that of an extension module of this Python; a plain .so may be any library."""
        inner = path.removeprefix(what.location)
        return path.endswith(self._tagged) and not STRIPPED_PATHS.search(inner) and "/_test" not in inner

    def _of_file(
        self, path: str, owner: str, location: str, recorded: dict[str, str], process: Process
    ) -> Iterator[UnfitExtension]:
        opened, edges = process.open(path)
        for edge in edges:
            its = recorded.get(self._where.name(edge.name), "")
            if its or not _left_to_others(edge):
                yield UnfitExtension(path_text(path), owner, location, edge, recorded=bool(its))
                return
        for one in opened:
            if old := self._too_old(one.file.path, process):
                yield UnfitExtension(path_text(path), owner, location, old)
                return
        if not owner and (other := self._of_another_release(path, process)):
            yield UnfitExtension(path_text(path), owner, location, other)

    def _of_another_release(self, path: str, process: Process) -> Edge | None:
        """Return the first library that lacks a version which a module of Python itself requires, or, if it has none, a function: another
        release of it is found before the system's.
        """
        root = self._search.policy.root
        tables = version_tables(path, root=root)
        for want in tables.wanted if tables else ():
            provider = process.provider(want.library)
            there = provider.file.path if provider else ""
            its = version_tables(there, root=root) if there else None
            if its is None or want.weak:
                continue
            lacks = want.version if its.offered and want.version not in its.offered else ""
            if not its.offered:  # glibc takes a library without versions for right
                names = (u.name for u in undefined_symbols(path, root=root) or () if u.library == want.library)
                exports = Exports(there, root)
                gone = exports.not_exported({name: gnu_hash(name) for name in names}) if exports.known else {}
                lacks = next(iter(gone), "") if exports.known else ""
            if lacks:
                return Edge(name=want.library, wanted_by=path, state="damaged", path=path_text(there), lacks=lacks)
        return None

    def _too_old(self, path: str, process: Process) -> Edge | None:
        """Return the first version of the C or C++ library that a file requires and that the system's library does not
        provide.
        """
        tables = version_tables(path, root=self._search.policy.root)
        for want in tables.wanted if tables else ():
            provider = process.provider(want.library) if GLIBC.fullmatch(want.library) else None
            its = version_tables(provider.file.path, root=self._search.policy.root) if provider else None
            if provider and its and its.offered and want.version not in its.offered and not want.weak:
                there = provider.file.path
                return Edge(name=want.library, wanted_by=path, state="damaged", path=there, detail=want.version)
        return None

    def not_elsewhere(
        self, unfit: Iterable[UnfitExtension], folders: tuple[str, ...], beside: str
    ) -> Iterator[UnfitExtension]:
        """Leave out what lacks a library that is in the environment nevertheless: a package without its own copy may load it first. Where
        it is a framework's, the order of a program's imports decides.
        """
        for one in unfit:
            edge = one.edge
            if one.recorded or edge is None or edge.state != "absent" or "/" in edge.name:
                yield one
            elif not self._where.is_file(self._where.join(beside, edge.name)):
                places = [place for folder in folders for place in self._places_of(edge.name, folder)]
                theirs = [p for p in places if LEFT_OUT.fullmatch(normalise_name(p))]
                if len(theirs) == len(places):
                    yield replace(one, provided_by=theirs[0]) if theirs else one

    def _places_of(self, name: str, folder: str) -> list[str]:
        """Return what in a folder of packages has a library of this name, in it or two levels below: by the name of its file, or by that in
        its header, which frameworks' own builds keep where they rename the file.
        """
        if folder not in self._libraries:
            self._libraries[folder] = tuple(paths_below(folder, 3, self._where))
        stem = name.partition(".so")[0]
        return [
            path.removeprefix(folder).strip("/").partition("/")[0]
            for path in self._libraries[folder]
            if (its := self._where.name(path)) == name
            or (its.startswith(f"{stem}-") and ".so" in its and self._soname(path) == name)
        ]

    def _soname(self, path: str) -> str:
        return read_image(path, root=self._search.policy.root).soname


def names_spelt_by(what: Distribution, names: Iterable[str], where: Sysroot) -> set[str]:
    """Return which of these files the first modules of a distribution name."""
    left = {name: re.compile(rf"{re.escape(name)}[\"']") for name in names}
    rows = record_rows(what, r"\.py\"?,", where) if left else ()
    found: set[str] = set()
    for path in sorted(rows, key=lambda p: (p.count(where.path_module.sep), p))[:MAX_TEXTS]:
        text = where.text(path, MAX_TEXT_BYTES) or ""
        found |= {name for name, spelt in left.items() if name in text and spelt.search(text)}
    return found


def paths_below(folder: str, levels: int, where: Sysroot) -> Iterator[str]:
    """Yield what is in a package's folder and in the folders below it; ``levels``: 1 for that in the folder alone."""
    places = [folder]
    for _level in range(levels):
        inner = [(place, n) for place in places for n in where.names(place) or ()]
        yield from (where.join(place, n) for place, n in inner)
        places = [where.join(p, n) for p, n in inner if "." not in n.removesuffix(".libs") and n != "__pycache__"]


def _left_to_others(edge: Edge) -> bool:
    """Whether the missing library is the driver's, CUDA's or a framework's, which other rules report."""
    if DRIVERS_OWN.fullmatch(edge.name):
        return True
    theirs = GPU_LIBRARY.fullmatch(edge.name) and not COMPILERS_OWN.fullmatch(edge.name)
    return edge.state == "absent" and bool(theirs)


MOSTLY_BUILT = ("_struct", "_json", "_pickle", "math", "select")
"""Extension modules that every Python has. If these are files, the others would be files, too."""
FILES_ON_WINDOWS = ("_socket", "select", "unicodedata")
"""The same on Windows, where more is part of Python's own DLL: zlib, too."""
MAX_LIBRARY_BYTES = 64 << 20


def lacking_modules(interpreter: Interpreter, where: Sysroot) -> tuple[str, ...]:
    """Return the extension modules that the installed Python was built without, or on Windows has lost, as far as its folders and
    libpython show.
    """
    if where.system == "windows":
        names = {
            n.partition(".")[0]
            for f in (interpreter.base, where.join(interpreter.base, "DLLs"))
            for n in where.names(f) or ()
            if n.lower().endswith(".pyd")
        }
        built: tuple[str, ...] = FILES_ON_WINDOWS
    else:
        folder = where.join(interpreter.base, interpreter.library, f"python{interpreter.short_version}", "lib-dynload")
        names, built = {n.partition(".")[0] for n in where.names(folder) or ()}, MOSTLY_BUILT
    if not names.issuperset(built):
        return ()  # built into the interpreter
    without_tk = NEED_TK if "_tkinter" not in names else ()
    absent = [m for m in SELDOM_BUILT if m not in (*names, *NEED_TK)]
    if where.system == "windows" or not absent:
        return (*(m for m in absent if m != "zlib"), *without_tk)
    libraries = where.join(interpreter.base, interpreter.library)
    files = [
        where.join(libraries, n)
        for n in where.names(libraries) or ()
        if n.startswith(f"libpython{interpreter.short_version}")
    ]
    content = b"".join(
        where.read(f, MAX_LIBRARY_BYTES) or b"" for f in (where.real_path(interpreter.executable), *files[:1])
    )
    return (*(m for m in absent if content and b"PyInit_" + m.encode() + b"\0" not in content), *without_tk)
