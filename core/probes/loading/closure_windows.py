"""The closures of an environment on Windows: what each framework's own DLLs import, under the way in which it loads them."""

from __future__ import annotations

import ntpath
import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from core.knowledge.gpu_binaries import GpuFramework, gpu_binaries
from core.loader.windows.policy import DllPolicy
from core.loader.windows.search import DllSearch, cpython_policy, dll_closure, plain_policy
from core.model.facts import Distribution, PythonEnvironment, Resolution
from core.model.facts.closure import Closure, Edge, EdgeState
from core.probes.loading.plan import added_folders
from core.probes.sysroot import Sysroot

GPU_DLL = re.compile(
    r"(cudart|cublas|cublasLt|cudnn\w*|cufft|cufftw|curand|cusolver|cusolverMg|cusparse|cusparseLt|cupti|cutensor\w*|nvrtc|nvrtc-builtins|nvJitLink"
    r"|nvjpeg|npp\w+|nvinfer\w*|nvonnxparser\w*|nvToolsExt\w*|nvblas)\w*([._-][\w.]+)?\.dll"
    r"|(torch\w*|c10\w*|caffe2\w*|shm|fbgemm|asmjit|uv|libiomp5md|onnxruntime\w*|ctranslate2|ggml[\w-]*|llama)\.dll",
    re.IGNORECASE,
)
"""DLLs whose absence is reported: CUDA's families and the frameworks' own; Microsoft's C++ run time has its own rule."""

STATES: Mapping[str, EdgeState] = {
    "unreadable": "unreadable",
    "wrong architecture": "wrong architecture",
    "damaged": "damaged",
}


def windows_closures(python: PythonEnvironment, env: Mapping[str, str], where: Sysroot) -> Iterator[Closure]:
    """Yield one closure for each framework of the table."""
    for distribution in python.distributions:
        for row in gpu_binaries().frameworks:
            if re.fullmatch(row.distribution, distribution.name):
                made = _closure(python, distribution, row, env, where)
                if made is not None:
                    yield made


def application_folder(python: PythonEnvironment, where: Sysroot) -> str:
    """Return the folder of the program that really runs: a virtual environment's python.exe only starts its base's."""
    settings = where.text(where.join(python.prefix, "pyvenv.cfg"), 1 << 14) or ""
    home = re.search(r"(?m)^home\s*=\s*(.+?)\s*$", settings)
    return home[1] if home else where.parent(python.executable)


def _closure(
    python: PythonEnvironment, distribution: Distribution, row: GpuFramework, env: Mapping[str, str], where: Sysroot
) -> Closure | None:
    binaries = [path for step in row.windows if not step.may_fail for path in _files(step.file, distribution, where)]
    if not binaries:
        return None
    edges: dict[tuple[str, str], Edge] = {}
    files: dict[str, None] = {}
    search: DllSearch | None = None
    for path in binaries:
        search = DllSearch(_policy(python, path, row, env, where), others=search)
        for found in dll_closure(path, search):
            if found.winner and found.winner.outcome == "found":
                files.setdefault(found.winner.path)
            elif GPU_DLL.fullmatch(found.name):
                edges.setdefault((found.name.lower(), found.wanted_by), _edge(found, python, where))
    return Closure(
        consumer=python.consumer(f"{distribution.name} {distribution.version}"),
        binaries=tuple(binaries),
        files=tuple(files),
        edges=tuple(edges.values()),
    )


def _files(pattern: str, distribution: Distribution, where: Sysroot) -> list[str]:
    *folders, name = pattern.split("/")
    folder = where.join(distribution.location, *folders)
    wanted = re.compile(re.escape(name).replace(r"\*", ".*"), re.IGNORECASE)
    return [where.join(folder, n) for n in where.names(folder) or () if wanted.fullmatch(n)]


def _policy(
    python: PythonEnvironment, path: str, row: GpuFramework, env: Mapping[str, str], where: Sysroot
) -> DllPolicy:
    """Return how the framework loads this file: as an extension module and by ctypes, or with an altered search path."""
    variables = {name.upper(): value for name, value in env.items()}
    application = application_folder(python, where)
    added = [*added_folders(python), ntpath.dirname(path)]
    if row.windows_added:
        added += [ntpath.join(variables[v], *tail.split("/")) for v, tail in row.windows_added if variables.get(v)]
    if row.windows_way == "altered search path":
        plain = plain_policy(application, variables.get("PATH", ""), root=where.root)
        return replace(plain, altered=True, loading=ntpath.dirname(path), added=tuple(added))
    policy = cpython_policy(application, variables.get("PATH", ""), added=added, root=where.root)
    return replace(policy, loading=ntpath.dirname(path))


def _edge(found: Resolution, python: PythonEnvironment, where: Sysroot) -> Edge:
    winner = found.winner
    state: EdgeState = STATES.get(winner.outcome, "damaged") if winner else "absent"
    return Edge(
        name=found.name,
        wanted_by=found.wanted_by,
        state=state,
        path=winner.path if winner else "",
        detail=winner.detail if winner else "",
        attempts=found.attempts[:40],
        elsewhere=_elsewhere(found.name, python, where) if winner is None else (),
    )


def _elsewhere(name: str, python: PythonEnvironment, where: Sysroot) -> tuple[str, ...]:
    """Return files of this name in the packages, which the search does not come to: nvidia's wheels keep them in bin."""
    out = []
    for base in python.site_packages:
        home = where.join(base, "nvidia")
        for part in where.names(home) or ():
            for folder in (where.join(home, part, "bin"), where.join(home, part, "bin", "x86_64")):
                out += [where.join(folder, n) for n in where.names(folder) or () if n.lower() == name.lower()]
        libraries = where.join(base, "torch", "lib")
        out += [where.join(libraries, n) for n in where.names(libraries) or () if n.lower() == name.lower()]
    return tuple(out)
