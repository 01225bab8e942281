"""Packages that no table knows and whose extension modules are linked against CUDA's libraries: FAISS, cuDF, anybody's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from core.common.late_pattern import late_pattern
from core.knowledge.library_names import OF_VIDEO
from core.loader.exports import export_address
from core.loader.files import UnfitError
from core.loader.read_image import read_image
from core.loader.sections import open_layout
from core.model.facts import Distribution, PythonEnvironment
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.installed.gone_files import STRIPPED_PATHS, every_distribution
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import record_rows

CUDA_LIBRARY = late_pattern(
    r"lib(?:cublas|cublasLt|cudart|cudnn|cufft|cufftw|curand|cusolver|cusolverMg|cusparse|cusparseLt|cufile|cupti|cutensor|nvrtc|nvJitLink|nvjpeg"
    r"|npp\w+|nccl|nvshmem_host|nvinfer\w*|nvonnxparser)\.so\.\d+"
)
"""Names by which something is linked against a library of CUDA; of the driver's libraries, those for video are asked for besides."""

TAG = late_pattern(r"\.(?:cpython-|cp)(\d+)t?-")
"""The Python that an extension module was built for."""

MOST_MODULES = 6
"""Extension modules of one package that are asked, topmost first."""


class GpuPackage(msgspec.Struct, frozen=True):
    """A package, and its extension modules that need CUDA."""

    what: Distribution
    modules: tuple[str, ...]


def gpu_packages(python: PythonEnvironment, where: Sysroot, request: ProbeRequest) -> tuple[GpuPackage, ...]:
    """Return the packages of an environment whose extension modules are linked against CUDA, by themselves or by a library of the package."""

    def look(watched: Sysroot) -> tuple[tuple[GpuPackage, ...], bool]:
        found = []
        for what in every_distribution(python, watched):
            if modules := tuple(_linked_modules(what, python, watched)):
                found.append(GpuPackage(what, modules))
        return tuple(found), True

    known = request.shared.setdefault("identities", {})
    given = python.site_packages, python.version
    return kept_look("gpu packages", given, tuple[GpuPackage, ...], look, where, known=known)


def _linked_modules(what: Distribution, python: PythonEnvironment, where: Sysroot) -> Iterator[str]:
    rows = [p for p in record_rows(what, r"\.so(?:\.\d+)*\"?,", where) if not STRIPPED_PATHS.search(p)]
    modules = [p for p in rows if p.endswith(".so") and _is_for(python, where.name(p)) and ".libs/" not in p]
    for path in sorted(modules, key=lambda p: (p.count("/"), p))[:MOST_MODULES]:
        where.local_path(path)  # The answer depends on what was read.
        if _names_cuda(path, rows, where) and _is_module(path, where):
            yield path


def _is_for(python: PythonEnvironment, name: str) -> bool:
    """Whether an extension module is for this Python, as far as its name tells."""
    tag = TAG.search(name)
    return tag is None or tag[1] == "".join(python.version.split(".")[:2])


def _names_cuda(path: str, rows: Iterable[str], where: Sysroot) -> bool:
    """Whether a file is linked against CUDA, or against a library of its own package that is."""
    needed = read_image(path, root=where.root).needed
    own = [p for p in rows if where.name(p) in needed]
    names = (name for p in (path, *own) for name in read_image(p, root=where.root).needed)
    return any(CUDA_LIBRARY.fullmatch(name) or OF_VIDEO.fullmatch(name) for name in names)


def _is_module(path: str, where: Sysroot) -> bool:
    """Whether a file is an extension module, by its tag or by the function that Python calls."""
    name = where.name(path)
    if re.search(r"\.(?:cpython-\d+|abi3)[\w-]*\.so$", name):
        return True
    try:
        with open_layout(where.local_path(path)) as file:
            return export_address(file, f"PyInit_{name.partition('.')[0]}") is not None
    except UnfitError:
        return False
