"""Modules that protobuf's compiler wrote, and the releases of protobuf that do not take them.

Sources: https://protobuf.dev/news/2022-05-06/#python-updates ("generated code is out of date", from 4.21 on) and
google/protobuf/runtime_version.py of 5.26 and later (the runtime may not be older than the generated code).
"""

from __future__ import annotations

from collections.abc import Mapping

from core.common.late_pattern import late_pattern
from core.common.versions import version_tuple

SWITCHES = {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python", "TEMPORARILY_DISABLE_PROTOBUF_VERSION_CHECK": "true"}
"""Variables, and the values with which protobuf takes what it refuses otherwise."""

_OLD = late_pattern(r"(?m)^\w+ = _descriptor\.(?:Enum|Field|Service)?Descriptor\(")
"""Before 3.19: descriptors that are created one by one."""

_CHECKED = late_pattern(
    r"(?m)^_runtime_version\.ValidateProtobufRuntimeVersion\(\s*_runtime_version\.Domain\.PUBLIC,\s*(\d+),\s*(\d+),\s*(\d+),"
)


def is_generated(dotted: str, text: str) -> bool:
    """Whether protobuf's compiler wrote a module, or somebody put what it wrote into a module of another name."""
    return dotted.endswith("_pb2") or "_runtime_version.ValidateProtobufRuntimeVersion(" in text


def refused_at(text: str, release: str, *, compiled: bool) -> int | None:
    """Return where in a generated module protobuf of this release raises; None where it does not. ``compiled``: it has C code."""
    its = (*version_tuple(release), 0, 0)[:3]
    if its >= (4,) and compiled and (old := _OLD.search(text)):
        return old.start()
    checked = _CHECKED.search(text)
    return checked.start() if checked and release and its < tuple(map(int, checked.groups())) else None


def takes_all(variables: Mapping[str, str]) -> bool:
    """Whether variables make protobuf take what it refuses otherwise."""
    return any(variables.get(name, "").lower() == value for name, value in SWITCHES.items())
