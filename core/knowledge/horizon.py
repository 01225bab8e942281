"""The limits of the tables: their date, their architectures, and the newest release of each family.

Anything newer is not judged: it is neither wrong, nor in order, nor a reason to downgrade. The newest release of a
family follows from the tables' own rows.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

from core.common.versions import version_tuple
from core.knowledge.cudnn import cudnn_knowledge
from core.knowledge.frameworks import framework_tables
from core.knowledge.releases import Gpus, compatibility_table
from core.knowledge.tables import read_table
from core.model.facts import Frozen

Family = Literal["cudnn", "cuda", "gpu", "torch", "tensorflow", "jax", "onnxruntime", "ctranslate2"]

DISTRIBUTION_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"torch(-nightly)?", "torch"),
    (r"tensorflow(-gpu|-cpu|-intel)?|tf-nightly", "tensorflow"),
    (r"jax|jaxlib|jax-cuda\d+-(plugin|pjrt)", "jax"),
    (r"onnxruntime(-gpu)?", "onnxruntime"),
    (r"ctranslate2", "ctranslate2"),
)
"""Patterns of distributions whose releases the tables tell apart."""


class Horizon(Frozen, frozen=True, kw_only=True):
    """The limit of one family."""

    newest: tuple[int, ...]
    """The newest release that has a row: as many numbers as the rows tell apart."""
    known_until: str
    """The day on which the newest release that its table knows came out: 2026-11-06."""
    listed: frozenset[tuple[int, ...]] = frozenset()
    """The listed releases, if only these are known, whatever their numbers: GPUs' compute capabilities are not assigned in order."""


def release_family(distribution: str) -> Family | None:
    """Return the family of a distribution's releases; None if no table distinguishes them."""
    return next((name for pattern, name in DISTRIBUTION_FAMILIES if re.fullmatch(pattern, distribution)), None)


def is_beyond_horizon(name: Family | None, version: str | int | None) -> bool:
    """Whether a release is newer than the tables; False if either is unknown."""
    its = version_tuple(str(version or ""))
    if name is None or not its:
        return False
    edge = horizon_of(name)
    if edge.listed:
        return its[:2] not in edge.listed and its > min(edge.listed)
    return its[: len(edge.newest)] > edge.newest


@functools.cache
def horizon_of(name: Family) -> Horizon:
    """Return the limit of a family."""
    if name == "cuda":
        known = compatibility_table()
        return Horizon(newest=(max(f.cuda_major for f in known.families),), known_until=known.known_until)
    if name == "gpu":
        gpus = read_table("gpus", Gpus)
        compiled = {divmod(sm, 10) for t in compatibility_table().toolkits for sm in t.sm}
        listed = compiled | {version_tuple(c) for a in gpus.architectures for c in a.compute_capability}
        return Horizon(newest=max(listed), known_until=gpus.known_until, listed=frozenset(listed))
    if name in ("torch", "tensorflow"):
        known_builds = framework_tables()
        rows = known_builds.torch if name == "torch" else known_builds.tensorflow
        return Horizon(newest=max(version_tuple(getattr(r, name)) for r in rows), known_until=known_builds.known_until)
    cudnn = cudnn_knowledge()
    if name == "cudnn":
        return Horizon(newest=(max(c.major for c in cudnn.checks),), known_until=cudnn.known_until)
    # the key of a row is a pattern, which begins with its family
    rows_of_family = (f for f in cudnn.frameworks if f.newest and f.distribution.split("-")[0] == name)
    newest = (version_tuple(f.newest) for f in rows_of_family)
    return Horizon(newest=max(newest), known_until=cudnn.known_until)
