"""Files beside a cuDNN that compilers and ldconfig use: headers, unversioned links, import libraries, the cache."""

from __future__ import annotations

import re

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.knowledge.cudnn_file_names import is_link_library, parse_cudnn_name, shipped_name
from core.loader import read_image
from core.loader.cudnn_version import true_version
from core.loader.linux.cache import CacheEntry
from core.model.facts import LibraryFile, path_text
from core.probes.cudnn.locations import CudnnFolder
from core.probes.sysroot import Sysroot

HEADER_NAMES = ("cudnn_version.h", "cudnn.h")
"""cuDNN 7 and older define their version in cudnn.h."""

_DEFINE = late_pattern(r"^[ \t]*#[ \t]*define[ \t]+CUDNN_(MAJOR|MINOR|PATCHLEVEL)[ \t]+(\d{1,4})\b", re.MULTILINE)
_WANTED_DLL = late_pattern(rb"cudnn\w{0,40}64_(\d+)\.dll", re.IGNORECASE)


def find_header(folder: str, where: Sysroot) -> tuple[str | None, str]:
    r"""Return the version in the cudnn_version.h that belongs to a folder of libraries, and the header's path.

    Searched in include beside the folder and one or two levels up (Debian: /usr/include, also its multiarch folder;
    NVIDIA's installer: include\12.6 beside bin\12.6).
    """
    for base in _include_folders(folder, where):
        for name in HEADER_NAMES:
            path = where.join(base, name)
            numbers = dict(_DEFINE.findall(where.text(path) or ""))
            if len(numbers) == 3:
                return ".".join(str(int(numbers[n])) for n in ("MAJOR", "MINOR", "PATCHLEVEL")), path_text(path)
    return None, ""


def _include_folders(folder: str, where: Sysroot) -> list[str]:
    name, up = where.name(folder), where.parent(folder)
    folders = [where.join(up, "include"), where.join(where.parent(up), "include")]
    if where.system == "windows":
        folders.append(where.join(where.parent(up), "include", name))
        above = where.parent(where.parent(up))
        folders.append(where.join(above, "include", where.name(up)))
    elif name.endswith("-linux-gnu"):
        folders.insert(0, where.join(where.parent(up), "include", name))
    return folders


def find_links(found: CudnnFolder, where: Sysroot) -> tuple[LibraryFile, ...]:
    """Return the unversioned links and import libraries beside a copy, with the version that each refers to."""
    folder = found.spot.folder
    beside = [where.join(folder, name) for name in found.links]
    if where.system == "windows":
        up = where.parent(folder)
        for lib in (where.join(up, "lib", "x64"), where.join(where.parent(up), "lib", "x64")):
            beside += [where.join(lib, n) for n in where.names(lib) or () if is_link_library(n)]
    return tuple(_link(path, where) for path in beside)


def _link(path: str, where: Sysroot) -> LibraryFile:
    name, real = where.name(path), where.real_path(path)
    if is_link_library(name):
        wanted = _WANTED_DLL.search(where.read(path, 1 << 16) or b"")
        return LibraryFile(
            path=path_text(path),
            name=name,
            version=wanted[1].decode() if wanted else None,
            version_source=fact_text("the DLL that it names") if wanted else "",
        )
    image = read_image.read_image(path, root=where.root)
    version, source = true_version(path, where.root) if image.state == "good" else (None, "")
    what = parse_cudnn_name(where.name(real), where.system)
    if version is None and what and what.release:
        version, source = what.release, fact_text("the real file's name")
    return LibraryFile(
        path=path_text(path),
        name=name,
        real_path=path_text(real) if real != path else "",
        state=image.state,
        problem=image.problem,
        size=image.size,
        architecture=image.architecture,
        version=version,
        version_source=source,
        soname=image.soname,
    )


def stale_cache_path(folder: str, major: int, cache: tuple[CacheEntry, ...], where: Sysroot) -> str:
    """Return the path at which ld.so.cache lists this copy's main library although that file was removed or replaced.

    Empty if the cache is correct for this name, or does not list it.
    """
    name = shipped_name("", major, "linux")
    for entry in cache:
        if entry.name != name:
            continue
        here = where.real_path(where.parent(entry.path)) == where.real_path(folder)
        if not where.is_file(entry.path):
            return path_text(entry.path)
        what = parse_cudnn_name(where.name(where.real_path(entry.path)), "linux")
        if here and what and what.major not in (major, None):
            return path_text(entry.path)
    return ""
