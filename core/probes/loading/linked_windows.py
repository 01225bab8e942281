"""Packages on Windows that no table knows and whose modules are linked against PyTorch or CUDA: xFormers, FlashAttention, anybody's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from core.common.late_pattern import late_pattern
from core.loader.read_image import read_image
from core.model.facts import Distribution, PythonEnvironment
from core.probes.kept_looks import kept_look
from core.probes.loading.gpu_packages import MOST_MODULES
from core.probes.probe import ProbeRequest
from core.probes.python.installed.gone_files import STRIPPED_PATHS, every_distribution
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import record_rows

CUDA_DLL = late_pattern(
    r"(cudart|cublas|cublasLt|cudnn|cufft|cufftw|curand|cusolver|cusolverMg|cusparse|cupti|cutensor|nvrtc|nvJitLink|nvjpeg|npp\w|nvinfer|nvonnxparser)"
    r"[\w.-]*\.dll",
    re.IGNORECASE,
)
"""Names by which something is linked against a DLL of CUDA; the driver's are not among them."""
TORCH_DLL = late_pattern(r"(torch(_\w+)?|c10(_\w+)?)\.dll", re.IGNORECASE)
FOR_PYTHON = late_pattern(r"(?i)(_d)?\.(?:cp(\d+)t?-\w+\.)?pyd$")
REGISTERS = late_pattern(r"\badd_dll_directory\b")
"""Python code that makes folders known to the loader."""
MAX_TEXTS, TEXT_BYTES = 12, 64 << 10
"""Modules of one package that are searched for this, topmost first, and bytes read of each."""
NOT_ASKED = ("nvidia-", "tensorrt", "jax-")


class LinkedPackage(msgspec.Struct, frozen=True):
    """A package, and its modules that are linked so."""

    what: Distribution
    modules: tuple[str, ...]
    after_torch: bool = False
    """PyTorch is loaded before it: it is linked against it, or requires it."""
    registers: bool = False
    """Its Python code makes folders known to the loader: those of the toolkit that CUDA_PATH names, as a rule."""


def linked_packages(
    python: PythonEnvironment, known: frozenset[str], where: Sysroot, request: ProbeRequest
) -> tuple[LinkedPackage, ...]:
    """Return these packages of an environment. ``known``: distributions that the table of frameworks has."""

    def look(watched: Sysroot) -> tuple[tuple[LinkedPackage, ...], bool]:
        found = []
        for what in every_distribution(python, watched):
            if what.name not in known and not what.name.startswith(NOT_ASKED):
                found += [*_linked(what, python, watched)]
        return tuple(found), True

    given = python.site_packages, python.version, tuple(sorted(known))
    identities = request.shared.setdefault("identities", {})
    found = kept_look("linked dlls", given, tuple[LinkedPackage, ...], look, where, known=identities)
    requiring = {
        d.name for d in python.distributions if any(re.match(r"torch(?![\w.-])", r) for r in (*d.requires, *d.pins))
    }
    return tuple(
        msgspec.structs.replace(one, after_torch=one.after_torch or one.what.name in requiring) for one in found
    )


def _linked(what: Distribution, python: PythonEnvironment, where: Sysroot) -> Iterator[LinkedPackage]:
    """Yield a package if a module of it, or a DLL of its own behind a module, names PyTorch's or CUDA's DLLs."""
    rows = record_rows(what, r"(?i)\.(?:pyd|dll)\"?,", where)
    own = {where.name(p).lower(): p for p in rows}
    modules = [p for p in rows if _is_for(python, where.name(p)) and not STRIPPED_PATHS.search(p.replace("\\", "/"))]
    chosen, torch = [], False
    for path in sorted(modules, key=lambda p: (p.count("\\"), p))[:MOST_MODULES]:
        where.local_path(path)  # the answer depends on what was read
        names = _names(path, own, where)
        if any(TORCH_DLL.fullmatch(n) or CUDA_DLL.fullmatch(n) for n in names):
            chosen.append(path)
            torch = torch or any(TORCH_DLL.fullmatch(n) for n in names)
    if chosen:
        yield LinkedPackage(what, tuple(chosen), torch, _registers(what, where))


def _is_for(python: PythonEnvironment, name: str) -> bool:
    tag = FOR_PYTHON.search(name)
    return tag is not None and not tag[1] and tag[2] in (None, "".join(python.version.split(".")[:2]))


def _names(path: str, own: Mapping[str, str], where: Sysroot) -> Sequence[str]:
    """Return the names that a module is linked against, and those of its package's DLLs among them."""
    direct = read_image(path, root=where.root).needed
    inner = [own[n.lower()] for n in direct if n.lower() in own]
    return (*direct, *(n for p in inner for n in read_image(p, root=where.root).needed))


def _registers(what: Distribution, where: Sysroot) -> bool:
    rows = sorted(record_rows(what, r"\.py\"?,", where), key=lambda p: (p.count("\\"), p))
    return any(REGISTERS.search(where.text(path, TEXT_BYTES) or "") for path in rows[:MAX_TEXTS])
