"""Missing dependencies of one consumer's own binaries: libraries that its loader does not find, and undefined symbols."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.versions import is_older
from core.knowledge.gpu_binaries import GpuFramework, gpu_binaries
from core.knowledge.library_names import DRIVERS_OWN, OF_VIDEO
from core.model.facts import DamagedFile, Distribution, Snapshot, System
from core.model.facts.closure import Closure, Edge, Gap, Opening
from core.model.paths import file_name, is_inside, normalise
from core.rules.driver.facts import driver_works
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.snapshot_queries import effective_variable

COMPILERS = late_pattern(r"lib(stdc\+\+|gcc_s|c|m|pthread|dl|rt|gomp)\.so|ld-linux")

COMPILER_VERSION = late_pattern(r"(GLIBC|GLIBCXX|CXXABI|GCC|GOMP|OMP)_")

LIBRARY_IN_WORDS = late_pattern(r"(?<![\w+.-])lib[\w+-]+(?:\.[\w-]+)*?\.so(?:\.\d+)*")
"""A file name in a loader's message."""

TENSORRT = late_pattern(r"(lib)?nv(?:infer\w*|onnxparser)\.so")

FRAMEWORKS_OWN = late_pattern(r"(lib)?(torch\w*|c10\w*|caffe2\w*|shm)\.(so|dll)")


class Lack(msgspec.Struct, frozen=True):
    """One consumer, its missing dependencies, and what is known about them."""

    home: EnvironmentView
    closure: Closure
    edges: tuple[Edge, ...]
    gaps: tuple[Gap, ...]
    recorded: tuple[DamagedFile, ...]
    """Missing or altered files of packages that are among these dependencies."""

    @property
    def system(self) -> System:
        """The machine's system."""
        return self.home.seen.machine.system

    @property
    def name(self) -> str:
        """The distribution's name."""
        return self.closure.consumer.framework.partition(" ")[0]

    @property
    def distribution(self) -> Distribution | None:
        """What is installed by this name."""
        return self.home.installed(self.name)

    @property
    def rows(self) -> list[GpuFramework]:
        """What the tables know of it."""
        return [row for row in gpu_binaries().frameworks if re.fullmatch(row.distribution, self.name)]


def failed_openings(closure: Closure) -> list[Opening]:
    """Return the libraries that could not be opened, apart from the driver's own."""
    return [o for o in closure.openings or () if (o.problem or o.ended) and not DRIVERS_OWN.match(o.problem)]


def find_lack(home: EnvironmentView, closure: Closure) -> Lack | None:
    """Return the missing dependencies of a consumer's binaries; None if there are none."""
    opened = {o.library for o in closure.openings or () if not o.problem and not o.ended}
    edges = tuple(e for e in closure.edges if not e.optional and (e.by_name or e.wanted_by not in opened))
    if home.seen.driver is None or not driver_works(home.seen.driver):
        edges = tuple(
            e for e in edges if not OF_VIDEO.fullmatch(e.name)
        )  # The driver's own fault is told, which brings it along.
    gaps = tuple(g for g in closure.gaps if not g.optional and g.wanted_by not in opened)
    failed = failed_openings(closure)
    if not (edges or gaps or failed):
        return None
    named = {e.name for e in edges} | {file_name(home.seen.machine.system, g.provider) for g in gaps if g.provider}
    named |= {name for o in failed for name in LIBRARY_IN_WORDS.findall(o.problem)}
    paths = {e.path for e in edges if e.path} | {p for g in gaps for p in (g.wanted_by, g.provider) if p}
    recorded = tuple(
        d
        for d in (home.records.damaged if home.records else ())
        if file_name(home.seen.machine.system, d.path) in named or d.path in paths
    )
    if not recorded and not any(d.name.startswith("nvidia-") for d in home.python.distributions):
        edges = tuple(_with_places(e, home.seen) for e in edges)
    return Lack(home, closure, edges, gaps, recorded)


def lacks_nothing(home: EnvironmentView, closure: Closure) -> bool:
    """Whether everything that these binaries need was found and fits, and loaded if it was tried."""
    return find_lack(home, closure) is None


def _with_places(edge: Edge, seen: Snapshot) -> Edge:
    """Return a missing dependency with the machine's files of that name: an environment without NVIDIA's packages uses these."""
    if edge.state != "absent" or edge.elsewhere:
        return edge
    sets = (*(t.libraries for t in seen.toolkits or ()), *(c.files for c in seen.cudnn or ()))
    there = (f for files in sets for f in files if f.name.lower() == edge.name.lower() and f.state == "good")
    return replace(edge, elsewhere=tuple(f.path for f in there))


def reported_files(seen: Snapshot) -> set[str]:
    """Return the package files, normalised, that findings of this module report, so that the rules about records need not."""
    out = set()
    for home in environment_views(seen):
        for closure in home.closures:
            lack = find_lack(home, closure)
            out |= {normalise(seen.machine.system, d.path) for d in lack.recorded} if lack else set()
    return out


def for_other_cudas(lack: Lack) -> str:
    """Return the names of a package's libraries for other CUDA versions, if it has none for its framework's; else nothing."""
    own = [e for e in lack.edges if e.state == "absent" and e.detail and e.name == file_name(lack.system, e.wanted_by)]
    return own[0].detail if own else ""


def tensorrt_majors(lack: Lack, absent: list[Edge]) -> tuple[str, list[str]]:
    """Return the major release of TensorRT that is needed, and those of the environment's own packages."""
    wanted = next((m[1] for e in absent if (m := re.search(r"\.so\.(\d+)", e.name))), "")
    its = (
        d.version.partition(".")[0]
        for d in lack.home.python.distributions
        if re.fullmatch(r"tensorrt(-cu\d+)?(-libs)?", d.name)
    )
    return wanted, list(dict.fromkeys(its))


CUDA_NUMBERED = late_pattern(r"lib(?:cublas|cublasLt|cudart|nvrtc|nvJitLink|cupti)\.so\.(\d+)")
"""Libraries whose major version is CUDA's."""


def cuda_majors(lack: Lack, absent: list[Edge]) -> tuple[str, list[str]]:
    """Return the CUDA major version that is needed, and those of the environment's own packages.

    A toolkit elsewhere on the machine was not necessarily meant for it.
    """
    build = next((b for b in lack.home.builds if b.distribution == lack.name), None)
    numbers = [m[1] for e in absent if (m := CUDA_NUMBERED.match(e.name))]
    wanted = next(iter(numbers), (build.cuda or "").partition(".")[0] if build else "")
    packages = [m[1] for d in lack.home.python.distributions if (m := re.fullmatch(r"nvidia-.*-cu(\d+)", d.name))]
    return wanted, list(dict.fromkeys(packages))


def is_found_in_packages(lack: Lack, name: str) -> bool:
    """Whether the framework finds a library of this file name in NVIDIA's packages by cuda-pathfinder, without a search path."""
    its = lack.distribution
    if its is None:
        return False
    if lack.system == "windows":
        return any(r.windows_finds and is_older(its.version, r.windows_finds) is False for r in lack.rows)
    finds = (r for r in lack.rows if r.finds and is_older(its.version, r.finds) is False)
    return any(name.startswith(f"lib{part}.so") for row in finds for part in row.found)


class NamedToolkit(msgspec.Struct, frozen=True):
    """What CUDA_PATH names, and the toolkit that has what is missing there."""

    value: str
    right: str


def named_toolkit(lack: Lack, absent: Sequence[Edge]) -> NamedToolkit | None:
    """Return this where a framework on Windows asks CUDA_PATH for its toolkit, and another toolkit has all that is missing; else None."""
    named = effective_variable(lack.home.seen, "CUDA_PATH") if lack.system == "windows" else None
    if (
        named is None
        or not named.value
        or not any(v == "CUDA_PATH" for row in lack.rows for v, _tail in row.windows_added)
    ):
        return None
    for toolkit in lack.home.seen.toolkits or ():
        root = normalise(lack.system, toolkit.root)
        its_own = toolkit.origin in ("installer", "folder") and root != normalise(lack.system, named.value)
        if its_own and all(any(is_inside(lack.system, p, toolkit.root) for p in e.elsewhere) for e in absent):
            return NamedToolkit(named.value, toolkit.root)
    return None
