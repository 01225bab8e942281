"""What on a machine keeps several GPUs from exchanging data by NCCL, and which of its messages that makes."""

from __future__ import annotations

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.explain.proofs import ProofEvidence
from core.explain.reading import ParsedText
from core.model.facts import Snapshot
from core.model.findings import Evidence
from core.rules.collectives import (
    LOCKED_MEMORY,
    SHARED_MEMORY,
    has_several_gpus,
    little_locked_memory,
    small_shared_memory,
)

IOMMU = "IOMMU"
OF_SHARED_MEMORY = late_pattern(r"/dev/shm|shared memory|no space left on device|posix_fallocate|shm_open")  # noqa: S108 - in messages
OF_LOCKED_MEMORY = late_pattern(r"ibv_reg_mr|ibv_create_cq|memlock|locked memory|cannot allocate memory")


def nccl_obstacles(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """Little shared or locked memory, or an IOMMU between several GPUs."""
    if not has_several_gpus(seen):
        return ()
    found = (*small_shared_memory(seen), *little_locked_memory(seen))
    redirected = seen.tools is not None and seen.tools.iommu and not seen.machine.container
    if redirected:
        found = (*found, Evidence(label=IOMMU, value=_("in use"), source="/sys/class/iommu"))
    return found


def names_memory(reading: ParsedText, said: tuple[str, ...]) -> bool:
    """Whether a text complains of that kind of memory of which there is too little."""
    return bool(
        (SHARED_MEMORY in said and OF_SHARED_MEMORY.search(reading.low))
        or (LOCKED_MEMORY in said and OF_LOCKED_MEMORY.search(reading.low))
    )
