"""cuDNN's file names: the major version and role that a name stands for, and the names with which cuDNN calls the loader."""

from __future__ import annotations

import re
from functools import lru_cache

from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.model.facts import Frozen, System

_LINUX = late_pattern(
    r"libcudnn(?:_(?P<role>(?!static)[a-z0-9_]+?))?(?P<hash>-[0-9a-f]{8})?\.so(?:\.(?P<release>\d+(?:\.\d+){0,3}))?"
)
_WINDOWS = late_pattern(r"cudnn(?:_(?P<role>[a-z0-9_]+?))?64_(?P<release>\d+)\.dll", re.IGNORECASE)
_IMPORT = late_pattern(r"cudnn(64_\d+)?\.lib", re.IGNORECASE)

VERSION_LIBRARY = {7: "", 8: "ops_infer", 9: "graph"}
"""Major -> role of the library whose version is that of the set: cudnnGetVersion is answered there."""

CUDNN_MAJORS = (7, 8, 9)
"""What is known of cuDNN's names and parts holds for these; a newer major is listed, and judged by no rule."""


class CudnnFileName(Frozen, frozen=True, kw_only=True):
    """The meaning of a library's file name."""

    role: str
    """ops_infer, graph, engines_precompiled, ...; empty for the main library (the shim; all of cuDNN 7)."""
    major: int | None
    """None for an unversioned link such as libcudnn.so."""
    release: str = ""
    """The version in the name, "9" or "9.1.0"; empty when there is none."""
    hashed: bool = False
    """Renamed by a packager (libcudnn-f0ff4753.so.8.1.1): only its own program finds it."""


@lru_cache(maxsize=4096)  # many rules ask for the same ones, of each way of starting
def parse_cudnn_name(name: str, system: System | None = None) -> CudnnFileName | None:
    """Return the meaning of a file name; None if it is not one of cuDNN's shared libraries. Without a system: of either."""
    m = None
    if system != "windows":
        m = _LINUX.fullmatch(name)
    if m is None and system != "linux":
        m = _WINDOWS.fullmatch(name)
    if m is None:
        return None
    release = m["release"] or ""
    hashed = bool(m.groupdict().get("hash"))
    major = whole_number(release.split(".")[0])
    role = (m["role"] or "").lower()
    return CudnnFileName(role=role, major=major, release=release, hashed=hashed)


def is_link_library(name: str) -> bool:
    """Whether a file is the main library's import library, which only linkers use."""
    return _IMPORT.fullmatch(name) is not None


def shipped_name(role: str, major: int, system: System) -> str:
    """Return the name of a role's library in NVIDIA's packages; an empty role is the main library."""
    tail = f"_{role}" if role else ""
    return f"cudnn{tail}64_{major}.dll" if system == "windows" else f"libcudnn{tail}.so.{major}"


def names_tried(role: str, major: int, version: str | None, system: System) -> tuple[str, ...]:
    """Return the names with which cuDNN calls the loader, in its order, to open a sub-library.

    cuDNN 9 for Linux tries the full version, then shorter ones, then the bare name (strings "%s.%d.%d.%d", "%s.%d.%d"
    and "%s.%d" in the wheels from 9.1.0.70 on); 8 and Windows use one name. ``version`` is that of the calling library.
    """
    if system == "windows" or major < 9:
        return (shipped_name(role, major, system),)
    bare = f"libcudnn_{role}.so"
    parts = version.split(".")[:3] if version else [str(major)]
    return (*(f"{bare}.{'.'.join(parts[:n])}" for n in range(len(parts), 0, -1)), bare)


def sub_libraries(names: tuple[str, ...], major: int, system: System) -> tuple[str, ...]:
    """Return the roles in ``names`` (strings of a binary) that stand for a sub-library of this major version.

    From cuDNN 9 on for Linux the names are unversioned (libcudnn_graph.so); otherwise they contain the major version.
    """
    roles = []
    for name in names:
        what = parse_cudnn_name(name, system)
        if what and what.role and (what.major or max(major, 9)) == major and what.role not in roles:
            roles.append(what.role)
    return tuple(roles)


def version_numbers(code: int) -> tuple[int, int, int] | None:
    """Return cudnnGetVersion's number as numbers: 8907 is 8.9.7, 90100 is 9.1.0; None for no cuDNN's number.

    CUDNN_VERSION is 1000 * major + 100 * minor + patch up to cuDNN 8, and 10000 * major + 100 * minor + patch from 9 on
    (cudnn_version.h).
    """
    if 90000 <= code < 1_000_000:
        return code // 10000, code // 100 % 100, code % 100
    if 1000 <= code < 10_000:
        return code // 1000, code // 100 % 10, code % 100
    return None


def version_text(code: int) -> str | None:
    """Return cudnnGetVersion's number as text: 8907 is 8.9.7, 90100 is 9.1.0; None for no cuDNN's number."""
    numbers = version_numbers(code)
    return ".".join(map(str, numbers)) if numbers else None


def role_of(name: str) -> str | None:
    """Return the role of a file name: "" for the main library, None if it is not one of cuDNN's."""
    what = parse_cudnn_name(name)
    return what.role if what else None
