"""One toolkit, read from its files: its libraries with their true versions, its own version and its compiler's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.knowledge.cuda_file_names import Locations, cuda_major, library_family, numbers_in_name, version_in_name
from core.loader import read_image
from core.model.facts import Distribution, LibraryFile, Toolkit, path_text
from core.probes.sysroot import Sysroot
from core.probes.toolkit.locations import ToolkitDraft

VERSION_PATTERN = late_pattern(r"(?<!\d)\d+\.\d+(?:\.\d+)*")
NVCC_RELEASE = late_pattern(r"release \d+\.\d+, V(\d+\.\d+\.\d+)")
"""The version in the output of ``nvcc --version``."""

_HEADER = late_pattern(r"#define\s+CUDART_VERSION\s+([0-9]{4,6})(?![0-9])")
_FOLDER = late_pattern(r"(?:cuda-|v)(\d+\.\d+)$", re.IGNORECASE)


def read_toolkits(draft: ToolkitDraft, known: Locations, where: Sysroot) -> Iterator[Toolkit]:
    """Yield the toolkits of a draft: none without CUDA files, one for each CUDA major version if wheels are side by side."""
    found = tuple(toolkit_libraries(draft, known, where))
    if not found and not draft.kept:
        return
    if draft.origin != "wheel":
        yield read_toolkit(draft, found, where)
        return
    majors: list[int | None] = [*sorted({f.cuda_major for f in found if f.cuda_major})] or [None]
    for major in majors:
        mine = tuple(f for f in found if f.cuda_major == major or (f.cuda_major is None and major == majors[0]))
        yield read_toolkit(draft, mine, where)


def read_toolkit(draft: ToolkitDraft, found: tuple[LibraryFile, ...], where: Sysroot) -> Toolkit:
    """Return the toolkit that a draft and its libraries describe."""
    record = _versions(draft.root, where) if draft.origin != "wheel" else {}
    version, source = _version(draft, found, record, where)
    compiler = draft.nvcc or _nvcc(draft, where)
    runtime = next((f for f in found if "cudart" in f.name), found[0] if found else None)
    return Toolkit(
        root=path_text(draft.root),
        origin=draft.origin,
        version=version,
        version_source=source,
        folder=where.parent(runtime.path) if runtime else "",
        owner=draft.owner,
        nvcc=path_text(compiler),
        nvcc_version=record.get("cuda_nvcc"),
        libraries=found,
        named_by=draft.named_by,
        source=draft.source,
    )


def _nvcc(draft: ToolkitDraft, where: Sysroot) -> str:
    path = where.join(draft.root, "bin", "nvcc.exe" if where.system == "windows" else "nvcc")
    return path if draft.origin in ("installer", "folder", "conda") and where.is_file(path) else ""


# --- libraries -------------------------------------------------------------------------------------------


def toolkit_libraries(draft: ToolkitDraft, known: Locations, where: Sysroot) -> Iterator[LibraryFile]:
    """Yield one LibraryFile for each real file, with the name that loaders look for."""
    done: set[str] = set()
    for folder in draft.folders:
        names = [n for n in where.names(folder) or () if library_family(n, where.system, known)]
        for name, real in _chosen_names(folder, names, where):
            if real not in done:
                done.add(real)
                yield toolkit_library(where.join(folder, name), real, draft, known, where)


def _chosen_names(folder: str, names: Iterable[str], where: Sysroot) -> Iterator[tuple[str, str]]:
    """Yield a name and its real path: of the links to one file, the shortest with a number, as sonames are.

    Compiler links (libcudart.so) are left out beside a numbered name; broken links are all listed.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(where.real_path(where.join(folder, name)), []).append(name)
    for real, its in sorted(groups.items()):
        its.sort(key=lambda n: (n.endswith(".so"), len(n)))
        yield its[0], real


def toolkit_library(path: str, real: str, draft: ToolkitDraft, known: Locations, where: Sysroot) -> LibraryFile:
    """Return what the headers, the name and the owner of one library say."""
    name = where.name(path)
    image = read_image.read_image(where.local_path(path))
    family = library_family(name, where.system, known) or ""
    number = numbers_in_name(name, where.system)
    major = cuda_major(family, number, known)
    version = version_in_name(family, numbers_in_name(where.name(real), where.system), where.system)
    source = fact_text("file name") if version else ""
    if draft.origin == "wheel":
        owner = _owner(family, major, draft.distributions, known)
        # Otherwise the file name is more reliable.
        if owner and (version is None or owner.version.startswith(version)):
            version, source = owner.version, f"{owner.name} {owner.version}"
        major = major or (_suffix(owner.name) if owner else None)
    return LibraryFile(
        path=path_text(path),
        name=path_text(name),
        real_path=path_text(real) if where.path_module.normcase(real) != where.path_module.normcase(path) else "",
        state=image.state,
        problem=image.problem,
        size=image.size,
        architecture=image.architecture,
        version=version,
        version_source=source,
        cuda_major=major,
        needed=image.needed,
        runpath=image.runpath,
        rpath=image.rpath,
        soname=image.soname,
    )


def _owner(
    family: str, major: int | None, installed: tuple[Distribution, ...], known: Locations
) -> Distribution | None:
    """Return the only distribution that contains a library; None if several might."""
    package = next((f.package for f in known.families if f.family == family), "")
    names = {f"nvidia-{package}-cu{major}", f"nvidia-{package}"} if major else None
    fits = [
        d
        for d in installed
        if (d.name in names if names else re.fullmatch(rf"nvidia-{re.escape(package)}(-cu\d+)?", d.name))
    ]
    return fits[0] if len(fits) == 1 else None


def _suffix(name: str) -> int | None:
    m = re.search(r"-cu([0-9]+)$", name)
    return whole_number(m[1]) if m else None


# --- versions --------------------------------------------------------------------------------------------


def _version(
    draft: ToolkitDraft, found: tuple[LibraryFile, ...], record: dict[str, str], where: Sysroot
) -> tuple[str | None, str]:
    """Return the toolkit's version and its source, the most reliable first."""
    if record.get("cuda"):
        return record["cuda"], record["source"]
    for family in ("cudart", "nvrtc", "nvJitLink", "cublas"):
        of_family = (f for f in found if f.version and re.match(rf"(lib)?{family}(64)?[._-]", f.name))
        best = next((f for f in of_family if VERSION_PATTERN.match(f.version or "")), None)
        if best:
            source = (
                best.version_source if best.version_source != "file name" else where.name(best.real_path or best.path)
            )
            return best.version, source
    if m := _FOLDER.search(where.name(draft.root)):
        return m[1], fact_text("folder name")
    header = where.text(where.join(draft.root, "include", "cuda_runtime_api.h"), 1 << 15)
    if draft.origin in ("installer", "folder", "conda") and header and (said := _HEADER.search(header)):
        number = int(said[1])
        return f"{number // 1000}.{number % 1000 // 10}", "cuda_runtime_api.h"
    if draft.origin == "conda" and (m := VERSION_PATTERN.search(draft.owner)):
        return m[0], draft.owner
    return None, ""


def _versions(root: str, where: Sysroot) -> dict[str, str]:
    """Return the content of version.json (CUDA 11 on) or version.txt (before): "cuda", "cuda_nvcc" and the "source"."""
    content = where.read(where.join(root, "version.json"), 1 << 18)
    if content is not None:
        found = {name: v for name in ("cuda", "cuda_nvcc") if (v := _field(content, name))}
        return found | {"source": "version.json"}
    said = VERSION_PATTERN.search(where.text(where.join(root, "version.txt"), 4096) or "")
    return {"cuda": said[0], "source": "version.txt"} if said else {}


def _field(content: bytes, name: str) -> str:
    try:
        data: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return ""
    value = data.get(name) if isinstance(data, dict) else None
    version = value.get("version") if isinstance(value, dict) else None
    return version if isinstance(version, str) and VERSION_PATTERN.fullmatch(version) else ""
