"""Which framework needs which cuDNN, and how it loads it: resources/knowledge/cudnn.json."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Literal

from core.common.versions import is_older, version_tuple
from core.knowledge.tables import read_table
from core.model.facts import Frozen

LoadingMode = Literal["whole folder", "bare name", "altered search path", "added folders"]
"""How a framework comes to its libraries on Windows."""


class MajorSince(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """From release ``first`` on (until the next row), a framework needs this major version."""

    first: str
    major: int
    source: str = ""
    """The wheel that says so; empty: the row's source."""


class CudaSpan(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """From release ``first`` on and before ``below``, a framework's package on the default index is for this CUDA."""

    first: str
    below: str
    major: int
    source: str = ""
    """The wheel that says so; empty: the row's source."""


class FrameworkRow(Frozen, frozen=True, kw_only=True):
    """A framework's distribution (a pattern), its binaries relative to the folder of packages, and its majors."""

    distribution: str
    linux: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()
    windows_way: LoadingMode = "bare name"
    newest: str = ""
    """The newest release that was read, where no other table lists them."""
    majors: tuple[MajorSince, ...] = ()
    """A major version of 0: from that release on it needs none."""
    windows_majors: tuple[MajorSince, ...] = ()
    """The same where Windows differs."""
    cuda: tuple[CudaSpan, ...] = ()
    """As far as it was read."""
    source: str = ""


class RollCallCheck(Frozen, frozen=True, kw_only=True):
    """A function of the roll call, and the sub-library that answers it."""

    major: int
    function: str
    role: str


class CheckStatus(Frozen, frozen=True, kw_only=True):
    """A status that a VersionCheck function may return."""

    major: int
    code: int
    name: str


class Zlibwapi(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """Releases for Windows that open zlibwapi.dll: ``first`` <= version < ``below``."""

    first: str
    below: str
    source: str = ""


class CudnnKnowledge(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/cudnn.json."""

    known_until: str
    checks: tuple[RollCallCheck, ...]
    statuses: tuple[CheckStatus, ...]
    zlibwapi: Zlibwapi
    frameworks: tuple[FrameworkRow, ...]


def cudnn_knowledge() -> CudnnKnowledge:
    """Return the table of cuDNN's functions and of the frameworks that load it."""
    return read_table("cudnn", CudnnKnowledge)


def releases_for(distribution: str, cuda: str, cudnn: str) -> str:
    """Return the requirement on a framework's releases for major versions of CUDA and cuDNN; empty if none is known.

    ``cudnn``: empty if there is none, which suits only releases that need none.
    """
    row = next((r for r in cudnn_knowledge().frameworks if re.fullmatch(r.distribution, distribution)), None)
    span = next((s for s in row.cuda if str(s.major) == cuda), None) if row else None
    if row is None or span is None:
        return ""
    newest_first = (m for m in reversed(row.majors) if is_older(m.first, span.below))
    fitting = [*takewhile(lambda m: str(m.major) in (cudnn, "0"), newest_first)]
    if not fitting:
        return ""
    low = max(span.first, fitting[-1].first, key=version_tuple)
    return f"{distribution}>={low},<{span.below}"
