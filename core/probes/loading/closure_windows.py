"""The closures of an environment on Windows: imports and exports of each framework's own DLLs, as it loads them."""

from __future__ import annotations

import ntpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.versions import is_older
from core.host.provenance import Verdict
from core.knowledge.gpu_binaries import GpuFramework, OpenedNames, gpu_binaries
from core.knowledge.horizon import is_beyond_horizon, release_family
from core.knowledge.library_names import DRIVERS_OWN
from core.loader.image_versions import file_version, linker_version
from core.loader.windows.policy import DEFAULT_DIRS, DLL_LOAD_DIR, DllPolicy
from core.loader.windows.search import DllSearch, cpython_policy, dll_closure, plain_policy
from core.model.facts import Distribution, How, PythonEnvironment, Resolution
from core.model.facts.closure import Closure, Edge, EdgeState, Gap, Opening
from core.model.path_list import searched_entries
from core.model.paths import is_inside
from core.probes.loading.asked_parts import SERVES_OTHERS, is_served
from core.probes.loading.built_for import built_for, lost_file
from core.probes.loading.fit_windows import unmet_functions
from core.probes.loading.linked_windows import linked_packages
from core.probes.loading.openings_windows import AFTER_PATH, ALTERED, OWN_FIRST, LoadOrder, LoadStep, load_libraries
from core.probes.loading.own_loads import own_loads
from core.probes.loading.package_folders import nvidias_folders, torchs_folders
from core.probes.loading.plan import added_folders
from core.probes.loading.start_path import with_start_path
from core.probes.loading.windows import application_folder
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record, record_rows

GPU_DLL = late_pattern(
    r"(cudart|cublas|cublasLt|cudnn|cufft|cufftw|curand|cusolver|cusolverMg|cusparse|cusparseLt|cupti|cutensor|nvrtc|nvrtc-builtins|nvJitLink"
    r"|nvjpeg|npp\w|nvinfer|nvonnxparser|nvToolsExt\w*|nvblas)\w*+([.-][\w.]+)?\.dll"
    r"|(torch\w*|c10\w*|caffe2\w*|shm|fbgemm|asmjit|uv|libiomp5md|onnxruntime\w*|ctranslate2|ggml[\w-]*|llama)\.dll",
    re.IGNORECASE,
)
"""DLLs whose absence is always reported: CUDA's families and the frameworks' own.

Others are reported only if a load failed.
"""

STATES: Mapping[str, EdgeState] = {
    "unreadable": "unreadable",
    "wrong architecture": "wrong architecture",
    "damaged": "damaged",
}

MAX_GAPS = 20
UNFIT = {126, 193}
"""Numbers of a load that met an unfit file: ERROR_BAD_EXE_FORMAT, and ERROR_MOD_NOT_FOUND where it is a dependency (wine)."""
MSVC = 14
"""Major version of Microsoft's linker and C++ runtime since Visual Studio 2015."""
NOT_FOUND = 126
"""ERROR_MOD_NOT_FOUND."""


def windows_closures(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[Closure]:
    """Yield one closure for each framework of the table; extensions are loaded into their framework's process."""
    rows = [(d, row) for d in python.distributions for row in gpu_binaries().frameworks if _fits(row, d.name)]
    if any(d.name == SERVES_OTHERS for d, _row in rows):
        rows = [(d, _behind_another(row, d, request, where)) for d, row in rows]
    verdicts: list[Verdict] = []
    torch: DllWalk | None = None
    for distribution, row in rows:
        if row.after or not row.windows:
            continue
        first = DllWalk(python, request, where, distribution, row)
        first.walk()
        if first.binaries:
            yield first.closure(verdicts)
            torch = first if distribution.name == "torch" else torch
        for other, behind in rows:
            if behind.after and re.fullmatch(row.distribution, behind.after):
                walk = DllWalk(python, request, where, other, behind, base=first)
                walk.walk()
                if walk.binaries and not any(not e.by_name for _by, e in first.edges):
                    yield walk.closure(verdicts)
    for one in linked_packages(python, frozenset(d.name for d, _row in rows), where, request):
        base = torch if one.after_torch else None
        if base and any(not e.by_name for _by, e in base.edges):
            continue  # what depends on it fails, too
        full = next((d for d in python.distributions if d.name == one.what.name), one.what)
        added = (("CUDA_PATH", "bin"), ("CUDA_PATH", "bin/x64")) if one.registers else ()
        its = GpuFramework(
            distribution="", cuda="", linux=(), windows=(), source="", windows_added=added, heavy=base is not None
        )
        walk = DllWalk(python, request, where, full, its, base=base)
        walk.open_modules(one.modules, on_path=one.registers)
        if walk.edges or walk.gaps:
            yield walk.closure(verdicts)


def _behind_another(row: GpuFramework, its: Distribution, request: ProbeRequest, where: Sysroot) -> GpuFramework:
    """Return a framework's row; it comes after PyTorch where each program of the person that imports it imports PyTorch before."""
    served = not row.after and its.name != SERVES_OTHERS and is_served(its.name, request, where)
    return replace(row, after=SERVES_OTHERS) if served else row


def _ends_at_start(opening: Opening) -> bool:
    """Whether a DLL was found with all that it needs, and its own start failed: ERROR_DLL_INIT_FAILED, ERROR_NOACCESS or a crash."""
    return opening.number in (998, 1114) or bool(opening.ended)


def _fits(row: GpuFramework, name: str) -> bool:
    return re.fullmatch(row.distribution, name) is not None


class DllWalk:
    """One framework's DLLs, loaded one after the other in its process."""

    def __init__(
        self,
        python: PythonEnvironment,
        request: ProbeRequest,
        where: Sysroot,
        distribution: Distribution,
        row: GpuFramework,
        *,
        base: DllWalk | None = None,
    ) -> None:
        self._python, self._request, self._where = python, request, where
        self._distribution, self._row = distribution, row
        env = with_start_path(request.env, python, where)
        self._variables = {name.upper(): value for name, value in env.items()}
        self._search: DllSearch | None = base._search if base else None
        self._loaded: dict[str, str] = dict(base._loaded) if base else {}
        self._files: dict[str, None] = {}
        self._before = base._order() if base else LoadOrder()
        self._others: list[tuple[str, Edge]] = []
        """Missing DLLs of no known family, reported only if a load failed."""
        self._built: dict[str, tuple[int, int]] = {}
        """Files that need Microsoft's C++ runtime, with the version of their linker."""
        self._driverless: set[str] = set()
        """Binaries that fail to load only because the driver is missing; the driver's step reports that."""
        self.binaries: list[str] = []
        self.edges: list[tuple[str, Edge]] = []
        """Missing dependencies, each with the binary whose load leads to it."""
        self.gaps: list[tuple[str, Gap]] = []
        self.steps: list[LoadStep] = []
        self._own = own_loads(distribution, python, request, where)
        """What the person's programs load, or make known, before."""
        self.folders = self._folders()

    def walk(self) -> None:
        """Follow what the framework loads, then what its libraries open by name."""
        row = self._row
        self._load_before(*self._own.files)
        number = built_for(row, self._distribution.name, self._python.site_packages, self._where)
        for step in row.windows:
            if step.first and is_older(self._distribution.version, step.first) is True:
                continue
            pattern = step.file.replace("{cuda}", number.replace(".", ""))
            found = [p for p in self._files_of(pattern) if p not in self.binaries]
            if not found and not step.may_fail:
                self._record_lost_files(step.file, number)
            if not step.may_fail:
                self.binaries += found
            for path in found:
                self._load(path, optional=step.may_fail, hosted=step.hosted)
        if is_beyond_horizon(release_family(self._distribution.name), self._distribution.version):
            return
        for names in row.windows_opens:
            self._open_names(names, number.partition(".")[0])

    def open_modules(self, modules: Sequence[str], *, on_path: bool) -> None:
        """Follow the modules of a package that no table knows.

        Its Python code may load a DLL first that lies in the environment, so only one counts that is not there at all, or that
        does not fit. ``on_path``: its code may also make the folders on PATH known.
        """
        before = (*self._before.folders, *(ntpath.dirname(step.path) for step in self._before.steps))
        own = (ntpath.dirname(path) for path in modules)
        self.folders = tuple(dict.fromkeys((*self.folders, *before, *own, *self._own_folders())))
        self.folders += tuple(self._on_path()) if on_path else ()
        self.binaries = list(modules)
        self._load_before(*self._own.files)
        for path in modules:
            bad, gaps, _direct = self._follow(path, path, self._policy(path))
            self.edges += [(path, e) for e in bad if not (e.state == "absent" and self._in_environment(e.name))]
            self.gaps += [(path, g) for g in gaps]
            wants = _wants(gaps)
            self.steps.append(LoadStep(path=path, flags=DLL_LOAD_DIR | DEFAULT_DIRS, wants=wants))

    def _own_folders(self) -> tuple[str, ...]:
        """Return the folders in which the package has DLLs: it makes them known as it is imported."""
        rows = record_rows(self._distribution, r"(?i)\.dll\"?,", self._where)
        return tuple(dict.fromkeys(self._where.parent(p) for p in rows))

    def _in_environment(self, name: str) -> bool:
        """Whether a package of the environment has a DLL of this name."""
        if self._files_elsewhere(name):
            return True
        spelt = re.compile(rf"(?im)[/\\]{re.escape(name)},")
        return any(
            spelt.search(read_record(d, self._where))
            for d in self._python.distributions
            if d.name != self._distribution.name
        )

    def closure(self, verdicts: list[Verdict]) -> Closure:
        """Return the result, including the child's; a dependency that the child could load is not missing, whatever was predicted."""
        what = self._distribution
        consumer = self._python.consumer(f"{what.name} {what.version}")
        openings = self._openings(consumer.full_id, verdicts)
        sound = {o.library for o in openings or () if not o.problem and not o.ended}
        numbers = {o.number for o in openings or ()}
        self.edges += [(o.library, e) for o in openings or () if _ends_at_start(o) for e in self._old_runtimes()[:1]]
        others = [(by, e) for by, e in self._others if numbers & (UNFIT if e.state != "absent" else {NOT_FOUND})]
        edges = [*self.edges, *(others if not self.edges else ())]
        return Closure(
            consumer=consumer,
            binaries=tuple(self.binaries),
            files=tuple(self._files),
            edges=tuple({(e.name.lower(), e.wanted_by): e for by, e in reversed(edges) if by not in sound}.values())[
                ::-1
            ],
            gaps=tuple(g for by, g in self.gaps if by not in sound)[:MAX_GAPS],
            openings=openings,
            strays=tuple(self._stray_files()),
        )

    def _old_runtimes(self) -> tuple[Edge, ...]:
        """Return the files of the C++ library that are older than the linker of what needs them.

        Microsoft asks for one at least as recent as the newest compiler among a program's parts ("C++ binary compatibility between
        Visual Studio versions"). Many programs start with an older one, so a load decides.
        """
        search = self._search
        if search is None:
            return ()
        asker, wanted = max(
            self._built.items(), key=lambda row: row[1] if row[1][0] == MSVC else (0, 0), default=("", (0, 0))
        )
        found = []
        for path in self._files if wanted[0] == MSVC else ():
            there = (
                file_version(search.real_path(path)) if ntpath.basename(path).lower().startswith("msvcp140") else None
            )
            if there and there[0] == MSVC and there[:2] < wanted:
                detail = fact_text(
                    "is of release {there}; {name} was built with {wanted}",
                    there=f"{there[0]}.{there[1]}", name=ntpath.basename(asker), wanted=f"{wanted[0]}.{wanted[1]}",
                )  # fmt: skip
                found.append(
                    Edge(name=ntpath.basename(path), wanted_by=asker, state="too old", path=path, detail=detail)
                )
        return tuple(found)

    def _stray_files(self) -> Iterator[str]:
        """Yield the unusable files in a package's folder that no package installed."""
        unfit = dict.fromkeys([*(e.path for _by, e in self.edges), *(g.provider for _by, g in self.gaps)])
        for path in filter(None, unfit):
            site = next((f for f in self._python.site_packages if is_inside("windows", path, f)), "")
            folder, name = ntpath.split(ntpath.relpath(path, site).lower()) if site else ("", "")
            start = folder.replace("\\", "/") + "/"
            records = [read_record(d, self._where).lower() for d in self._python.distributions if site]
            if any(start in text for text in records) and not any(start + name in text for text in records):
                yield path

    # --- the walk --------------------------------------------------------------------------------------------

    def _load(self, path: str, *, optional: bool, hosted: bool) -> None:
        """Follow one file that is loaded by path."""
        policy = self._policy(path)
        bad, gaps, direct = self._follow(path, path, policy)
        flags = ALTERED if policy.altered else DLL_LOAD_DIR | DEFAULT_DIRS
        if self._row.windows_way == "PATH":
            flags = OWN_FIRST
        if self._row.windows_way == "then PATH":
            flags |= AFTER_PATH
            if any(e.state == "absent" and not e.by_name for e in bad):
                added = ";".join((*self.folders, ntpath.dirname(path)))
                again = plain_policy(policy.application, f"{added};{policy.path}", root=self._where.root)
                bad, gaps, direct = self._follow(path, path, again)
        if not optional:
            self.edges += [(path, e) for e in bad]
            self.gaps += [(path, g) for g in gaps]
        wants = _wants(gaps)
        self.steps.append(
            LoadStep(path=path, flags=flags, quiet=optional, hosted=direct if hosted else (), wants=wants)
        )

    def _load_before(self, *paths: str) -> None:
        """Follow the files that the person's programs load by their paths, with ctypes."""
        for path in paths:
            policy = replace(self._policy(path), altered=False, flags=DLL_LOAD_DIR | DEFAULT_DIRS)
            self._follow(path, path, policy)
            self.steps.append(LoadStep(path=path, flags=policy.flags, quiet=True))

    def _open_names(self, names: OpenedNames, major: str) -> None:
        version = self._distribution.version
        if (names.first and is_older(version, names.first) is True) or (
            names.below and is_older(version, names.below) is False
        ):
            return
        for by in self._files_of(names.by)[:1]:
            policy = self._policy(by)
            policy = (
                replace(policy, flags=DEFAULT_DIRS, altered=False, loading="")
                if names.way == "ctypes"
                else policy.for_bare_name()
            )
            for name in names.names.get(major, names.names.get("", ())):
                bad, gaps, _direct = self._follow(name, by, policy)
                its = [replace(e, by_name=e.name == name, wanted_by=e.wanted_by or by) for e in bad]
                if not names.needed and all(e.by_name and e.state == "absent" for e in its):
                    continue
                self.edges += [(name, e) for e in its]
                self.gaps += [(name, g) for g in gaps]
                wants = _wants(gaps)
                self.steps.append(LoadStep(path=name, flags=policy.flags, wants=wants))

    def _follow(self, start: str, by: str, policy: DllPolicy) -> tuple[list[Edge], list[Gap], tuple[str, ...]]:
        """Return a load's missing dependencies, its missing functions, and the files that the start imports itself.

        Everything that it loads counts as loaded from then on, unless it fails.
        """
        self._search = search = DllSearch(policy, others=self._search)
        loaded = dict(self._loaded)
        bad: list[Edge] = []
        gaps: list[Gap] = []
        direct: list[str] = []
        for found in dll_closure(start, search, loaded=loaded):
            winner = found.winner
            if winner and winner.outcome == "found":
                self._files.setdefault(winner.path)
                if found.name.lower().startswith("msvcp140") and found.wanted_by not in self._built:
                    self._built[found.wanted_by] = linker_version(search.real_path(found.wanted_by)) or (0, 0)
                gaps += unmet_functions(found, search, found.wanted_by, self._files_elsewhere(found.name))
                if found.wanted_by == start and winner.how is not How.API_SET:
                    direct.append(winner.path)
                continue
            delayed = found.name in search.read_headers(found.wanted_by).delayed if found.wanted_by else False
            if DRIVERS_OWN.fullmatch(found.name):
                self._driverless |= set() if delayed else {by, start}
                continue
            edge = replace(self._edge(found), by_name=delayed)
            if GPU_DLL.fullmatch(found.name) or found.name == start:
                bad.append(edge)
            elif not delayed:
                self._others.append((by, edge))
        if all(e.by_name for e in bad):
            self._loaded = loaded
        bad += self._missing_further(bad, search)
        return bad, gaps, tuple(direct)

    def _missing_further(self, absent: Sequence[Edge], search: DllSearch) -> Iterator[Edge]:
        """Yield the missing dependencies of files found only elsewhere: a fix needs their folders, too."""
        known = {e.name.lower() for e in absent}
        queue = [e.elsewhere[0] for e in absent if e.elsewhere]
        while queue:
            image = search.read_headers(path := queue.pop(0))
            for name in image.needed:
                if name.lower() in known or name in image.delayed or not GPU_DLL.fullmatch(name):
                    continue
                known.add(name.lower())
                found = search.resolve(name, wanted_by=path)
                if found.winner is None:
                    edge = self._edge(found)
                    queue += edge.elsewhere[:1]
                    yield edge

    def _edge(self, found: Resolution) -> Edge:
        winner = found.winner
        state: EdgeState = STATES.get(winner.outcome, "damaged") if winner else "absent"
        return Edge(
            name=found.name,
            wanted_by=found.wanted_by,
            state=state,
            path=winner.path if winner else "",
            detail=winner.detail if winner else "",
            attempts=found.attempts[:40],
            elsewhere=self._files_elsewhere(found.name) if winner is None else (),
        )

    # --- a child ---------------------------------------------------------------------------------------------

    def _order(self) -> LoadOrder:
        """Return the child's instructions, including everything that must be loaded before."""
        folders = tuple(dict.fromkeys((*self._before.folders, *self.folders)))
        stops = self._before.stops or self._row.windows_way == "then PATH"
        return LoadOrder(folders=folders, steps=(*self._before.steps, *self.steps), stops=stops)

    def _openings(self, consumer: str, verdicts: list[Verdict]) -> tuple[Opening, ...] | None:
        """Load the DLLs in a child: always if that is cheap, else if something looks wrong or the scan is thorough."""
        suspect = bool(self.edges or self.gaps or self._others or self._old_runtimes())
        if not (suspect or (self._python.is_wanted and (self._request.thorough or not self._row.heavy))):
            return None
        made = load_libraries(self._python, self._order(), consumer, self._request, verdicts)
        before = {s.path for s in self._before.steps}
        if made is None:
            return None
        waiting = {o.library for o in made if o.number == NOT_FOUND and o.library in self._driverless}
        return tuple(o for o in made if o.library not in before | waiting)

    # --- places ----------------------------------------------------------------------------------------------

    def _files_of(self, pattern: str) -> list[str]:
        *folders, name = pattern.split("/")
        wanted = re.compile(re.escape(name).replace(r"\*", ".*"), re.IGNORECASE)
        for base in dict.fromkeys((self._distribution.location, *self._python.site_packages)):
            folder = self._where.join(base, *folders)
            found = sorted(self._where.join(folder, n) for n in self._where.names(folder) or () if wanted.fullmatch(n))
            if found:
                return found
        return []

    def _record_lost_files(self, pattern: str, number: str) -> None:
        """Record a file that the package installed, or has for each CUDA version but this, and that is missing."""
        record = read_record(self._distribution, self._where)
        its = lost_file(pattern, number, record, self._files_of, self._variables)
        if its is None:
            return
        lost = self._where.join(self._distribution.location, *its[0].split("/"))
        self.edges.append((lost, Edge(name=self._where.name(lost), wanted_by=lost, state="absent", detail=its[1])))
        self.binaries.append(lost)

    def _folders(self) -> tuple[str, ...]:
        """Return the folders that the environment and the framework register for DLLs."""
        row, where = self._row, self._where
        added = [*added_folders(self._python), *self._own.folders]
        finds = bool(row.windows_finds) and is_older(self._distribution.version, row.windows_finds) is False
        if finds:
            added += list(nvidias_folders(self._python.site_packages, where))
            if self._python.kind == "conda":
                added.append(ntpath.join(self._python.prefix, "Library", "bin"))
            added += self._on_path()
        own = row.windows_added_unless and self._files_of(row.windows_added_unless)
        for variable, tail in row.windows_added if not own else ():
            root = self._variables.get(variable, "") if variable != "nvcc" else self._compiler()
            if root:
                added.append(ntpath.join(root, *tail.split("/")))
        return tuple(f for f in dict.fromkeys(added) if where.names(f) is not None)

    def _on_path(self) -> list[str]:
        return [e for e in searched_entries(self._variables.get("PATH", ""), "windows") if ntpath.isabs(e)]

    def _compiler(self) -> str:
        """Return the toolkit whose nvcc is on PATH; empty if CUDA_PATH names an existing folder."""
        named = self._variables.get("CUDA_PATH", "")
        if named and self._where.names(named) is not None:
            return ""
        return next((ntpath.dirname(f) for f in self._on_path() if self._where.is_file(ntpath.join(f, "nvcc.exe"))), "")

    def _policy(self, path: str) -> DllPolicy:
        """Return how the framework loads this file: as an extension module and by ctypes, or with an altered search path."""
        application = application_folder(self._python, self._where)
        variable = self._variables.get("PATH", "")
        if self._row.windows_way == "altered search path":
            plain = plain_policy(application, variable, root=self._where.root)
            return replace(plain, altered=True, loading=ntpath.dirname(path), added=self.folders)
        if self._row.windows_way == "PATH":
            return plain_policy(application, f"{ntpath.dirname(path)};{variable}", root=self._where.root)
        added = (*self.folders, ntpath.dirname(path))
        policy = cpython_policy(application, variable, added=added, root=self._where.root)
        return replace(policy, loading=ntpath.dirname(path))

    def _files_elsewhere(self, name: str) -> tuple[str, ...]:
        """Return files of this name in the packages, outside the search path: nvidia's wheels keep them in bin."""
        where, sites = self._where, self._python.site_packages
        folders = [*nvidias_folders(sites, where), *torchs_folders(sites, where)]
        return tuple(where.join(f, n) for f in folders for n in where.names(f) or () if n.lower() == name.lower())


def _wants(gaps: Iterable[Gap]) -> tuple[tuple[str, str], ...]:
    """Return DLL and function of each import that no DLL here has."""
    return tuple((ntpath.basename(g.provider), g.name) for g in gaps)
