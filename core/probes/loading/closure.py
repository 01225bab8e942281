"""Closures probe: every GPU binary of every framework and extension, and its dependencies as its own loader finds them.

This module judges nothing and loads nothing; ``openings`` runs the child that opens a framework's libraries.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

import msgspec
from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.requirements import marker_applies, parse_requirement
from core.common.versions import is_older
from core.knowledge.gpu_binaries import GpuFramework, OpenStep, gpu_binaries
from core.knowledge.horizon import is_beyond_horizon, release_family
from core.knowledge.library_names import DRIVERS_OWN, OF_VIDEO
from core.loader.linux.cache import conf_folders
from core.loader.linux.process import EXECUTABLE_STACK, LoadedLibrary, Process
from core.loader.linux.search import LibrarySearch, LoadedFile
from core.loader.read_image import read_image
from core.model.facts import Distribution, PythonEnvironment, marker_facts, path_text
from core.model.facts.closure import Closure, Edge, Gap, Opening
from core.probes.kept_looks import kept_look
from core.probes.loading.asked_parts import SERVES_OTHERS, is_asked_for, is_served
from core.probes.loading.built_for import built_for, lost_file
from core.probes.loading.gpu_packages import CUDA_LIBRARY, gpu_packages
from core.probes.loading.linux import consumer_search
from core.probes.loading.openings import OpeningStep, open_libraries
from core.probes.loading.pathfinder import pathfinder_files
from core.probes.noexec import Noexec
from core.probes.probe import ProbeRequest
from core.probes.python.installed.gone_files import every_distribution
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.trust import opening_verdict
from core.probes.wheel_record import installed_by_conda, read_record, record_rows

GPU_LIBRARY = late_pattern(
    r"lib(cud\w*|cublas\w*|cufft\w*|curand|cusolver\w*|cusparse\w*|cufile\w*|cupti|cutensor\w*|cusparseLt|nvrtc\S*|nvJitLink|nvjpeg\w*"
    r"|npp\w+|nccl|nvshmem\w*|nvToolsExt|nvtx\w*|nvinfer\w*|nvonnxparser|torch\w*|c10\w*|caffe2\w*|stdc\+\+|gcc_s|gomp\S*|c|m)"
    r"(-[0-9a-f]{8})?\.so(\.[\w.]+)?|ld-linux-[\w-]+\.so\.\d"
)
"""Libraries whose absence is reported for any extension: CUDA's families, PyTorch's own, and compiler run-time libraries."""

COMPILER = "libnvrtc"
"""How the names of NVRTC's files begin: small ones, which a framework opens before it compiles."""

TORCHS_OWN = late_pattern(r"lib(torch\w*|c10\w*)\.so")

TORCHS_NAME = late_pattern(r"_ZNK?(?:5torch|3c10|2at)")
"""Prefixes of PyTorch's C++ functions."""

OPENS_LIBRARY = late_pattern(r"\b(?:load_library|CDLL|LoadLibrary|dlopen)\(")
MAX_TEXTS, TEXT_BYTES = 12, 64 << 10
"""Modules of one distribution that are searched for this, topmost first, and bytes read of each."""

COMPILERS_OWN = late_pattern(r"(lib(c|m|stdc\+\+|gcc_s|gomp\S*)|ld-linux-[\w-]+)\.so(\.[\w.]+)?")

VARIANT = late_pattern(r"(?:cuda|cu|_cu)_?(\d{2})(\d)?(?![\d])")
"""The CUDA version in the name of a library that exists in several variants."""

TENSORRT = late_pattern(r"lib(?:nvinfer(?:_plugin)?|nvonnxparser)\.so\.\d+")
RESOURCE, RELEASE = "libnvinfer_builder_resource", late_pattern(r"\.so\.(\d+\.\d+\.\d+)$")
"""What libnvinfer opens by name for building engines, and the end of the name of a file of TensorRT."""

MOST_STEPS_BACK = 8
MAX_EXTENSION_FILES = 24
MAX_EXTENSIONS = 12
MAX_ASKED_FILES = 4
"""Maximum number of one distribution's libraries, topmost first, that are checked for a link to PyTorch."""


class Setting(msgspec.Struct, frozen=True):
    """One environment, and how the loader searches for its libraries."""

    python: PythonEnvironment
    search: LibrarySearch
    where: Sysroot
    folders: tuple[str, ...]
    """Folders of packages."""
    request: ProbeRequest
    known: Mapping[str, Closure] = {}
    """Results with this session's variables, by the consumer's complete id."""


def look_again(request: ProbeRequest) -> tuple[Closure, ...]:
    """Return the closures with the variables of another way of starting. Unchanged results are not opened again."""
    return look(request, {c.consumer.full_id: c for c in request.seen.closures or ()})


def look(request: ProbeRequest, known: Mapping[str, Closure] = {}) -> tuple[Closure, ...]:
    """Return one closure for each framework and extension of every environment that was read. ``known``: see ``Setting``."""
    return request.kept(_every_closure(request, known))


def _every_closure(request: ProbeRequest, known: Mapping[str, Closure]) -> Iterator[Closure]:
    where = sysroot_of(request.host)
    for python in request.seen.pythons or ():
        if python.problem:
            continue
        request.watch.check()
        if where.system == "windows":
            from core.probes.loading.closure_windows import windows_closures

            closures = functools.partial(windows_closures, python, request, where)
        else:
            search = consumer_search(request.env, request, where)
            setting = Setting(python, search, where, python.site_packages, request, known)
            closures = functools.partial(environment_closures, setting)
        yield from request.apart(closures)


def environment_closures(setting: Setting) -> Iterator[Closure]:
    """Yield the closures of one environment: each framework in a process of its own, followed by its extensions."""
    known = gpu_binaries()
    its = setting.python.distributions
    rows = [(d, row) for d in its for row in known.frameworks if re.fullmatch(row.distribution, d.name)]
    if len(rows) > 1:
        rows = [(d, _behind_another(row, d, rows, setting)) for d, row in rows]
    extensions = [d for d in its if not any(d is one for one, _row in rows)]
    for distribution, row in rows:
        if row.after:
            continue
        process = _process(setting)
        first = Walk(setting, process, distribution)
        first.start_framework(row)
        if not first.binaries:
            continue
        yield first.closure()
        if any(not e.by_name for e in first.edges):
            continue  # Everything that depends on it fails, too.
        behind = [(d, r) for d, r in rows if r.after and re.fullmatch(row.distribution, r.after)]
        for other, other_row in behind:
            walk = Walk(setting, process, other, base=first)
            walk.start_framework(other_row)
            if walk.binaries:
                yield walk.closure()
        if distribution.name in known.extensions_of:
            facts = _marker_facts(setting)
            needing = [d for d in extensions if _requires(d, distribution.name, facts)]
            if distribution.name == "torch":
                others = {d.name for d in (*needing, *(d for d, _row in rows))}
                needing += [d for d in linked_extensions(setting) if d.name not in others]
            for other in needing[:MAX_EXTENSIONS]:
                walk = Walk(setting, process, other, base=first)
                walk.open_extensions(first.cuda_version(row))
                if walk.binaries:
                    yield walk.closure()
    yield from _other_closures(setting, {d.name for d, _row in rows})


def _marker_facts(setting: Setting) -> dict[str, str]:
    python, machine = setting.python, setting.request.seen.machine
    return marker_facts(machine.system, python.architecture or machine.architecture, python.version)


def _behind_another(
    row: GpuFramework, its: Distribution, rows: list[tuple[Distribution, GpuFramework]], setting: Setting
) -> GpuFramework:
    """Return a framework's row; it comes after PyTorch where each program of the person that imports it imports PyTorch before."""
    if row.after or its.name == SERVES_OTHERS or not any(d.name == SERVES_OTHERS for d, _row in rows):
        return row
    return replace(row, after=SERVES_OTHERS) if is_served(its.name, setting.request, setting.where) else row


def _other_closures(setting: Setting, frameworks: set[str]) -> Iterator[Closure]:
    """Yield the closures of GPU packages that no table knows and that lack a library; others have nothing to tell.

    What needs a framework is opened behind it, and fails with it.
    """
    python, facts = setting.python, _marker_facts(setting)
    for one in gpu_packages(python, setting.where, setting.request):
        name = one.what.name
        if name in frameworks or name.startswith(("nvidia-", "tensorrt", "jax-", "triton")):
            continue
        full = next((d for d in python.distributions if d.name == name), one.what)
        if any(_requires(full, of, facts) for of in gpu_binaries().extensions_of):
            continue
        walk = Walk(setting, _process(setting), full)
        walk.open_modules(one.modules)
        if walk.edges:
            yield walk.closure()


def linked_extensions(setting: Setting) -> tuple[Distribution, ...]:
    """Return the distributions with a compiled module that is linked against PyTorch's libraries, whatever their metadata says."""
    its, request = setting.python, setting.request

    def look(where: Sysroot) -> tuple[tuple[Distribution, ...], bool]:
        found = []
        for what in every_distribution(its, where):
            if not what.name.startswith("nvidia-") and not re.fullmatch("torch(-nightly)?", what.name):
                rows = record_rows(what, r"\.so\"?,", where)
                upper = sorted(rows, key=lambda p: (p.count("/"), p))[:MAX_ASKED_FILES]
                egg = what.location.endswith(".egg")  # compiled here, so that its symbols are worth a look
                if any(TORCHS_OWN.fullmatch(n) for p in upper for n in read_image(p, root=where.root).needed) or (
                    egg and upper
                ):
                    found.append(what)
                for path in upper:
                    where.local_path(path)  # The answer depends on the files that were read.
        return tuple(found), True

    known = request.shared.setdefault("identities", {})
    return kept_look("linked", its.site_packages, tuple[Distribution, ...], look, setting.where, known=known)


def _process(setting: Setting) -> Process:
    python = setting.python
    program = setting.search.program(python.executable) if python.executable else None
    made = Process(
        setting.search,
        program if program and program.image.format == "ELF" else None,
        Noexec(setting.where).allows,
        has_executable_stack=bool(EXECUTABLE_STACK.search(setting.request.env.get("GLIBC_TUNABLES", ""))),
    )
    made.preload(setting.request.env.get("LD_PRELOAD", ""))
    return made


def _requires(distribution: Distribution, name: str, facts: Mapping[str, str]) -> bool:
    """Whether a distribution requires another one, outside its extras."""
    for raw in (*distribution.requires, *distribution.pins):
        if not re.match(re.escape(name) + r"(?![\w.-])", raw, re.IGNORECASE):
            continue
        wish = parse_requirement(raw)
        if wish and marker_applies(wish, {**facts, "extra": ""}):
            return True
    return False


class Walk:
    """One consumer's binaries, opened in order in one process."""

    def __init__(
        self, setting: Setting, process: Process, distribution: Distribution, base: Walk | None = None
    ) -> None:
        self._setting, self._process, self._distribution = setting, process, distribution
        self._base = base
        self.binaries: list[str] = []
        self.edges: list[Edge] = []
        self.gaps: list[Gap] = []
        self._files: dict[str, None] = {}
        self.global_scope: list[LoadedLibrary] = list(base.global_scope) if base else []
        self._passed_over: dict[str, Sequence[Edge]] = {}
        """Missing dependencies of libraries whose failure to open the framework ignores."""
        self._of_others: set[str] = set()
        """Plug-ins of other packages."""
        self._hosted: set[str] = set()
        """Files that get some of their symbols from the program that opens them."""
        self.steps: list[OpeningStep] = list(base.steps) if base else []
        """The steps of the child that opens these libraries: everything the framework opens before, then the consumer's own."""
        self._before = len(self.steps)
        self.heavy: bool = base.heavy if base else False

    @cached_property
    def altered_files(self) -> frozenset[str]:
        """Libraries of the distribution whose size differs from its RECORD; conda rewrites the files that it packages."""
        what, request = self._distribution, self._setting.request
        if installed_by_conda(what, self._setting.where):
            return frozenset()

        def look(where: Sysroot) -> tuple[tuple[str, ...], bool]:
            rows = record_rows(what, r"\.so(?:\.\d+)*\"?,", where)
            seen = {p: where.stat(p) for p, row in rows.items() if row.size is not None}
            return tuple(path_text(p) for p, its in seen.items() if its and its.st_size != rows[p].size), True

        given = (what.name, what.version, what.location)
        known = request.shared.setdefault("identities", {})
        return frozenset(kept_look("altered_files", given, tuple[str, ...], look, self._setting.where, known=known))

    def closure(self) -> Closure:
        """Return the result."""
        what = self._distribution
        newer = is_beyond_horizon(release_family(what.name), what.version)
        return Closure(
            consumer=self._setting.python.consumer(f"{what.name} {what.version}"),
            binaries=tuple(self.binaries),
            files=tuple(self._files),
            edges=tuple(
                replace(e, elsewhere=self._files_elsewhere(e)) for e in self.edges if not (newer and e.optional)
            ),
            gaps=tuple(self.gaps),
            openings=self._opened_in_child(),
        )

    def _opened_in_child(self) -> tuple[Opening, ...] | None:
        """Open the libraries in a child: always if that is cheap, else if that can settle what looks wrong, or the scan is thorough."""
        request = self._setting.request
        suspect = bool(self.edges or self.gaps)
        # what they open by name later stays a lack even where they open
        unsettled = bool(self.gaps) or any(not e.by_name for e in self.edges)
        if not (suspect or self._setting.python.is_wanted):
            return None  # an environment that nobody asked about and that misses no file
        consumer = self._setting.python.consumer(f"{self._distribution.name} {self._distribution.version}").full_id
        before = self._setting.known.get(consumer)
        if before is not None and not suspect and before.files == tuple(self._files):
            return before.openings
        steps = self.steps
        if self.heavy and not (unsettled or request.thorough):
            steps = [s for s in self.steps[self._before :] if s.work or s.path.rpartition("/")[2].startswith(COMPILER)]
        elif self._base and not suspect and self._base.heavy:
            return None
        python, where = self._setting.python, self._setting.where
        files = (*(s.path for s in steps), *self._process.reached)
        opened = open_libraries(python, steps, consumer, request, partial(opening_verdict, python, files, where))
        others = {s.path for s in self.steps[: self._before]}
        return tuple(o for o in opened if o.library not in others) if opened is not None else None

    # --- a framework of the table --------------------------------------------------------------------------

    def start_framework(self, row: GpuFramework) -> None:
        """Open what a framework opens at its start, and find what it opens by name later."""
        if is_beyond_horizon(release_family(self._distribution.name), self._distribution.version) and row.opens:
            row = replace(row, opens=())
        number = self.cuda_version(row)
        self.heavy = self.heavy or row.heavy
        if row.finds and is_older(self._distribution.version, row.finds) is False:
            self._find(row.found)
        for step in row.linux:
            does = not step.first or is_older(self._distribution.version, step.first) is not True
            if does and (not step.beside or self._has(step.beside)) and self._is_asked_for(step):
                self._step(step, number)
        for names in row.opens:
            early = names.first and is_older(self._distribution.version, names.first) is True
            late = names.below and is_older(self._distribution.version, names.below) is False
            if early or late:
                continue
            major = number.partition(".")[0]
            for by in self._files_of(names.by)[:1]:
                asker = self._process.library_at(by)
                for name in names.names.get(major, names.names.get("", ())) if asker else ():
                    self._open(name, by=asker.chain if asker else (), needed=names.needed)

        self._compare_tensorrt()

    def _find(self, names: Sequence[str]) -> None:
        """Open what cuda-pathfinder finds; what the system's search finds comes before a toolkit that a variable names."""
        setting = self._setting
        for one in pathfinder_files(names, setting.folders, setting.request.env, setting.where):
            soname = read_image(one.path, root=setting.where.root).soname if one.last else ""
            if soname and not self._process.open(soname)[1]:
                continue
            opened, edges = self._process.open(one.path)
            if edges:
                self._passed_over[setting.where.name(one.path)] = edges
            else:
                self._add(opened, [])
            self.steps.append(OpeningStep(one.path, everywhere=True, quiet=True))

    def _is_asked_for(self, step: OpenStep) -> bool:
        return not step.asked or is_asked_for(step.asked, self._setting.request, self._setting.where)

    def _compare_tensorrt(self) -> None:
        """Note which of TensorRT's libraries are of another release than libnvinfer: they fit by their names, and work together in one
        release alone. The builder opens a resource of its very release by name.
        """
        where = self._setting.where
        parts = {_stem(one.name): one for one in self._process.loaded.values() if TENSORRT.fullmatch(one.name)}
        main = parts.pop("libnvinfer", None)
        release = self._tensorrt_release(main) if main else ""
        if main and release:
            for part in parts.values():
                if (its := self._tensorrt_release(part)) and its != release:
                    self.gaps.append(Gap(wanted_by=part.file.path, name="", version=its, provider=main.file.path))
            folder = where.parent(where.real_path(main.file.path))
            wanted = f"{RESOURCE}.so.{release}"
            names = [n for n in where.names(folder) or () if n.startswith(f"{RESOURCE}.so.")]
            if names and wanted not in names:
                self.edges.append(Edge(name=wanted, wanted_by=main.file.path, state="absent", by_name=True))

    def _tensorrt_release(self, one: LoadedLibrary) -> str:
        """Return the release of a library of TensorRT by its own name, or by that of NVIDIA's package; empty where none says it."""
        spelt = RELEASE.search(self._setting.where.real_path(one.file.path))
        if spelt:
            return spelt[1]
        wheels = [
            d.version for d in self._setting.python.distributions if re.fullmatch(r"tensorrt(-cu\d+)?-libs", d.name)
        ]
        inside = "/tensorrt_libs/" in one.file.path and len(wheels) == 1
        return ".".join(wheels[0].split(".")[:3]) if inside else ""

    def cuda_version(self, row: GpuFramework) -> str:
        """Return the CUDA version that a framework was built for; see ``built_for``."""
        return built_for(row, self._distribution.name, self._setting.folders, self._setting.where)

    def _has(self, pattern: str) -> bool:
        return any(re.fullmatch(pattern, d.name) for d in self._setting.python.distributions)

    def _step(self, step: OpenStep, number: str) -> None:
        pattern = step.file.replace("{cuda}", number.replace(".", ""))
        found = self._files_of(pattern)
        if not step.may_fail:
            self.binaries += found
            record = read_record(self._distribution, self._setting.where)
            if not found and (its := lost_file(step.file, number, record, self._files_of, self._setting.request.env)):
                lost = self._setting.where.join(self._distribution.location, *its[0].split("/"))
                name = self._setting.where.name(lost)
                self.edges.append(Edge(name=name, wanted_by=lost, state="absent", detail=its[1]))
                self.binaries.append(lost)
        for path in found:
            opened, edges = self._process.open(path)
            if edges and step.fallback:
                for other in step.fallback:
                    for file in self._files_of(other)[:1]:
                        before, absent = self._process.open(file)
                        self._add(before if not absent else [], [])
                opened, edges = self._process.open(path)
            if step.may_fail and edges:
                self._passed_over[self._setting.where.name(path)] = edges
                self.steps.append(OpeningStep(path, quiet=True))
                continue
            edges = [*self._first_lacking(edges)]
            self._hosted |= {path} if step.hosted else set()
            self._of_others |= {path} if step.of_others else set()
            self._add(opened if not edges else [], edges)
            if step.hosted:
                needed = [self._process.provider(n) for n in read_image(path, root=self._setting.where.root).needed]
                self.steps += [OpeningStep(p.file.path) for p in needed if p and not COMPILERS_OWN.fullmatch(p.name)]
            else:
                self.steps.append(OpeningStep(path, everywhere=step.is_global, quiet=step.may_fail))
            if step.is_global and not edges:
                self.global_scope += opened

    def _first_lacking(self, edges: Sequence[Edge], depth: int = 0) -> Iterator[Edge]:
        """Yield the root of each failure: a library that failed to open earlier exists, but lacks a dependency."""
        for edge in edges:
            before = self._passed_over.get(edge.name, ()) if edge.state == "absent" and depth < MOST_STEPS_BACK else ()
            yield from self._first_lacking(before, depth + 1) if before else (edge,)

    def _files_of(self, pattern: str) -> list[str]:
        where, own = self._setting.where, self._distribution.location
        *folders, name = pattern.split("/")
        for base in dict.fromkeys((own, *self._setting.folders)):
            folder = where.join(base, *folders)
            if "*" not in name:
                if where.exists(path := where.join(folder, name)):
                    return [path]
                continue
            names = fnmatch.filter(where.names(folder) or (), name)
            if names:
                return [where.join(folder, n) for n in names]
        return []

    # --- an extension that brings its own binaries ----------------------------------------------------------

    def open_extensions(self, cuda: str) -> None:
        """Open the extension modules and libraries that name the GPU's libraries, as their package loads them."""
        where, what = self._setting.where, self._distribution
        paths = [p for p in record_rows(what, r"\.so(?:\.\d+)*\"?,", where) if where.is_file(p)]
        own = {where.name(p) for p in paths}
        chosen = 0
        for path in sorted(paths, key=lambda p: (not where.name(p).startswith("lib"), p.count("/"), p)):
            name = where.name(path)
            variant = VARIANT.search(name)
            if variant and cuda and not cuda.replace(".", "").startswith(variant[1]):
                continue  # built for another CUDA version
            needed = read_image(path, root=where.root).needed
            names_gpu = any(GPU_LIBRARY.fullmatch(n) and not COMPILERS_OWN.fullmatch(n) for n in needed)
            if not names_gpu and not (self._opens_libraries and self._process.wants(path, TORCHS_NAME)):
                continue
            chosen += 1
            if chosen > MAX_EXTENSION_FILES:
                return
            self.binaries.append(path)
            opened, edges = self._process.open(path)
            if not edges or any(e.name not in own and GPU_LIBRARY.fullmatch(e.name) for e in edges):
                self.steps.append(OpeningStep(path))
            asked = [e for e in edges if e.name not in own and (GPU_LIBRARY.fullmatch(e.name) or e.state != "absent")]
            self._add(opened if not edges else [], asked)

    def open_modules(self, paths: Sequence[str]) -> None:
        """Find what the extension modules of a package lack that no table knows.

        Its Python code may open a library first that lies in the environment, so that only a library counts that is not there at all.
        """
        for path in paths:
            _opened, edges = self._process.open(path)
            cudas = [e for e in edges if CUDA_LIBRARY.fullmatch(e.name) or OF_VIDEO.fullmatch(e.name)]
            lacking = [e for e in cudas if not self._files_elsewhere(e)]
            if lacking:
                self.binaries.append(path)
                self._add([], lacking)

    @cached_property
    def _opens_libraries(self) -> bool:
        """Whether Python code of the distribution opens libraries by itself, which need not name what they use; an egg was linked here,
        and the linker leaves a name out that it found nothing in.
        """
        where = self._setting.where
        if self._distribution.location.endswith(".egg"):
            return True
        rows = sorted(record_rows(self._distribution, r"\.py\"?,", where), key=lambda p: (p.count("/"), p))
        texts = (where.text(path, TEXT_BYTES) or "" for path in rows[:MAX_TEXTS])
        return any(OPENS_LIBRARY.search(text) for text in texts)

    # --- results ------------------------------------------------------------------------------------------------------

    def _open(self, name: str, by: Sequence[LoadedFile], *, needed: bool) -> None:
        opened, edges = self._process.open(name, by)
        if not needed and all(e.name == name and e.state == "absent" for e in edges):
            edges, opened = [], []
        self._add(opened if not edges else [], [replace(e, by_name=e.name == name) for e in edges])
        found = self._process.provider(name)
        if found and not edges:
            compiler = name.startswith("libnvrtc.so")
            self.steps.append(OpeningStep(found.file.path, work="compile" if compiler else ""))

    def _add(self, opened: list[LoadedLibrary], edges: list[Edge]) -> None:
        """Record the opened libraries (none if the open failed) and the missing dependencies."""
        known = {(e.name, e.wanted_by) for e in self.edges}
        self.edges += [
            e
            for e in edges
            if (e.name, e.wanted_by) not in known
            and (not DRIVERS_OWN.fullmatch(e.name) or (OF_VIDEO.fullmatch(e.name) and not e.by_name))
        ]
        self._files |= dict.fromkeys(one.file.path for one in opened)
        own = self._distribution.location
        for one in opened:
            if len(self.gaps) > 20:
                return
            mine = (
                one.file.path in self.binaries if self._base else one.file.path.startswith(own) and self.altered_files
            )
            mine = bool(mine) and one.file.path not in self._hosted
            scope = [*self._process.scope([one]), *self.global_scope]
            if one.file.path in self._of_others:
                mine, scope = True, [*scope, *self._process.loaded.values()]
            self.gaps += self._process.unmet_versions(one)
            if one.file.path.startswith(own) or any(one.file.path.startswith(f) for f in self._setting.folders):
                self.gaps += self._process.unmet_symbols(one, scope, everything=mine)

    def _files_elsewhere(self, edge: Edge) -> tuple[str, ...]:
        """Return the files of the wanted name in this environment's packages, and in folders that ld.so.conf names and that ldconfig has
        not read since.
        """
        if edge.state != "absent":
            return ()
        where, out = self._setting.where, []
        for base in self._setting.folders:
            home = where.join(base, "nvidia")
            for part in where.names(home) or ():
                path = where.join(home, part, "lib", edge.name)
                if where.is_file(path):
                    out.append(path)
            for path in (where.join(base, "torch", "lib", edge.name), where.join(base, "tensorrt_libs", edge.name)):
                if where.is_file(path):
                    out.append(path)
        listed = (where.join(c.path, edge.name) for c in conf_folders(root=where.root))
        return (*out, *(path for path in listed if path not in out and where.is_file(path)))


def _stem(name: str) -> str:
    return name.partition(".so")[0]
