"""The true version of a cuDNN file, from what its maker compiled into it; none of it runs.

File names and headers may be wrong or missing, so they are not used. In order of trust:

1. exported data such as ``cudnn_graph_version`` (0x00090A02 = 9.10.2), on both systems and every architecture;
2. the number that the file's own ...VersionCheck function compares with (x86_64 code: ``cmp dword [reg],
   0x00090A02``);
3. for cuDNN 9's engine and heuristic libraries, the number that their hidden start function compares with (``cmp
   reg, 91002``);
4. for the Linux shim of cuDNN 9, the numbers from which it makes the names libcudnn_graph.so.9.10.2 that it opens;
5. a DLL's version resource, if it is in cuDNN's own format (only ``true_version`` uses it).

The first four were read in the files of 8.9.7, 9.1.0, 9.10.2, 9.20.0 and 9.21.1. The shims of cuDNN 8, and those of
cuDNN 9 on Windows, contain no version at all.
"""

from __future__ import annotations

import os
import re
import struct
from collections import Counter
from collections.abc import Iterator

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.loader.earlier_reads import cached_by_file
from core.loader.exports import dll_name, export_address, export_value, text_section
from core.loader.files import UnfitError, path_under_root
from core.loader.image_versions import file_version
from core.loader.sections import Layout, open_layout, section_chunks
from core.model.facts import Frozen

VERSION_SYMBOLS = tuple(
    f"cudnn_{part}_version"
    for part in ("graph", "ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train")
)
CHECK_SYMBOLS = tuple(
    f"cudnn{part}VersionCheck"
    for part in ("Cnn", "Ops", "Adv", "Graph", "CnnTrain", "CnnInfer", "OpsTrain", "OpsInfer", "AdvTrain", "AdvInfer")
)
DUMMY_SYMBOLS = (
    "dummyHeuristicSymbol",
    "dummyBackendEnginesPreCompiledSymbol",
    "dummyBackendEnginesRuntimeCompiledSymbol",
    "dummyBackendEnginesTensorIRSymbol",
)
"""Exported by cuDNN 9's engine and heuristic libraries on Linux, close behind their start function."""

BYTES_AROUND, BYTES_BEFORE = 0x200, 0x2000
"""Bytes of code read around the start of a VersionCheck function (compilers put the comparison on either side), and before a dummy symbol."""

COMPARE_PACKED = late_pattern(rb"\x81[\x38-\x3f](...\0)", re.DOTALL)
COMPARE_DECIMAL = late_pattern(rb"\x81[\xf8-\xff](...\0)", re.DOTALL)
START_ON_WINDOWS = late_pattern(rb"\x2b\xe0\x81\xf9(...\0)", re.DOTALL)
MAJOR_PATTERN = late_pattern(rb"\x41\xb8\x09\0\0\0")
MINOR_PATTERN = late_pattern(rb"\x41\xb9(.)\0\0\0", re.DOTALL)
PATCH_PATTERN = late_pattern(rb"\x6a([\x00-\x1f])")


MAX_CODE_BYTES = 64 << 20


class TrueVersion(Frozen, frozen=True, kw_only=True):
    """A version that a file's content proves, and the evidence."""

    version: str
    """Major.minor.patch."""
    source: str


@cached_by_file
def cudnn_version(path: str | os.PathLike[str], *, root: str = "/") -> TrueVersion | None:
    """Return the version that is compiled into a cuDNN file; None if it has none or cannot be read.

    Takes less than a millisecond, and up to 10 ms for an engine library on Windows.
    """
    try:
        with open_layout(path_under_root(root, os.fspath(path))) as file:
            return next(_evidence(file), None)
    except UnfitError:
        return None


def _evidence(file: Layout) -> Iterator[TrueVersion]:
    for name in VERSION_SYMBOLS:
        found = _packed_version(export_value(file, name))
        if found:
            yield TrueVersion(version=found, source=f"exported {name}")
    if file.architecture != "x86_64":
        return
    for name in CHECK_SYMBOLS:
        at = export_address(file, name)
        code = b"" if at is None else file.bytes_around(at, BYTES_AROUND, BYTES_AROUND)
        found = _agreed_version(_packed_version(_number(match)) for match in COMPARE_PACKED.finditer(code))
        if found:
            yield TrueVersion(version=found, source=fact_text("the number that {name} compares with", name=name))
    yield from _start(file)
    yield from _shim(file)


def _start(file: Layout) -> Iterator[TrueVersion]:
    """Read the engine libraries' start function: before a dummy symbol on Linux, found by its prologue on Windows."""
    if file.format == "PE":
        own = dll_name(file)
        pieces = _code(file) if own.startswith(("cudnn_engines", "cudnn_heuristic")) else iter(())
        matches = [match for piece in pieces for match in START_ON_WINDOWS.finditer(piece)]
    else:
        places = [at for name in DUMMY_SYMBOLS if (at := export_address(file, name)) is not None]
        matches = [match for at in places for match in COMPARE_DECIMAL.finditer(file.bytes_around(at, BYTES_BEFORE, 0))]
    found = _agreed_version(_decimal_version(_number(match)) for match in matches)
    if found:
        yield TrueVersion(version=found, source=fact_text("the number that its start function compares with"))


def _shim(file: Layout) -> Iterator[TrueVersion]:
    """Read the numbers that the shim passes to snprintf as major (r8d), minor (r9d) and patch (pushed), close together."""
    if file.format != "ELF" or export_address(file, "cudnnGetVersion") is None:
        return
    seen: Counter[tuple[int, int]] = Counter()
    for code in _code(file):
        for match in MAJOR_PATTERN.finditer(code):
            around = code[max(0, match.start() - 44) : match.end() + 34]
            minors, patches = set(MINOR_PATTERN.findall(around)), set(PATCH_PATTERN.findall(around))
            if len(minors) == len(patches) == 1:
                seen[minors.pop()[0], patches.pop()[0]] += 1
    if len(seen) == 1:
        minor, patch = next(iter(seen))
        yield TrueVersion(version=f"9.{minor}.{patch}", source=fact_text("the names of sub-libraries that it makes"))


def _code(file: Layout) -> Iterator[bytes]:
    section = text_section(file)
    if section and section.size <= MAX_CODE_BYTES:
        yield from section_chunks(file.source, section, overlap=128)


def _number(match: re.Match[bytes]) -> int:
    return int(struct.unpack("<I", match[1])[0])


def _packed_version(number: int | None) -> str | None:
    """0x00090A02 -> "9.10.2"."""
    if number is None:
        return None
    major, minor, patch = number >> 16, number >> 8 & 0xFF, number & 0xFF
    return f"{major}.{minor}.{patch}" if 7 <= major <= 20 and minor < 100 and patch < 100 else None


def _decimal_version(number: int) -> str | None:
    """91002 -> "9.10.2" (cuDNN 9's encoding; engine libraries exist only since then)."""
    major, minor, patch = number // 10000, number // 100 % 100, number % 100
    return f"{major}.{minor}.{patch}" if 9 <= major <= 20 and patch < 20 else None


def _agreed_version(versions: Iterator[str | None]) -> str | None:
    """Return the version if all agree; None if there is none, or if they differ."""
    named = {version for version in versions if version}
    return named.pop() if len(named) == 1 else None


def true_version(path: str, root: str = "/") -> tuple[str | None, str]:
    """Return a library's version and the evidence for it in the file; (None, "") if there is none. Never raises."""
    found = cudnn_version(path, root=root)
    if found:
        return found.version, found.source
    resource = _resource(path_under_root(root, path))
    return (resource, fact_text("the file's version resource, which is true from 8.9.4 on")) if resource else (None, "")


def _resource(path: str) -> str | None:
    """Return a PE file's FileVersion if it is in cuDNN's format.

    Up to 8.9.3 it is in the driver's format (6.14.11.xxxx) and wrong; determined from the wheels 8.9.7.29 and 9.1.0.70.
    """
    parts = file_version(path)
    return ".".join(map(str, parts[:3])) if parts and (8, 9, 4) <= parts[:3] < (100,) else None
