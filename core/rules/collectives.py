"""Rules about what several GPUs need to exchange data by NCCL: notes, since a program on one GPU needs none of it."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.model.facts import PythonEnvironment, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.remedies import Unset
from core.rules.counter import cuda_starts
from core.rules.frameworks.environment_view import environment_views
from core.rules.frameworks.fit import gpu_side
from core.rules.snapshot_queries import effective_variable
from core.rules.wording import NOTE, WARNING, concern_row, make_finding, manual_fix, observation, variable_row

BRINGS_NCCL = late_pattern(r"nvidia-nccl(-cu\d\d)?|nccl|torch")
CONTAINER_DEFAULT = 64 << 20
"""Bytes of /dev/shm that container engines give by default; NCCL's guide asks for 1 GiB."""
ENOUGH_LOCKED = 64 << 20
"""Bytes that a process may lock: below, InfiniBand's buffers do not fit. Systems give 64 KiB or 8 MiB by default."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a name to show
LOCKED_MEMORY = "ulimit -l"
WORKERS_SOURCE = "https://github.com/pytorch/pytorch#docker-image"
NETWORK_SOURCE = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net"
SOURCE = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"


def has_several_gpus(seen: Snapshot) -> bool:
    """Whether programs of this session see more than one GPU."""
    cuda = seen.driver.cuda if seen.driver else None
    return cuda is not None and cuda_starts(cuda) and (cuda.device_count or 0) > 1


def small_shared_memory(seen: Snapshot) -> tuple[Evidence, ...]:
    """Return the shared memory of a container with no more than the engines' default."""
    size = seen.tools.shared_memory if seen.tools else None
    if not seen.machine.container or size is None or size > CONTAINER_DEFAULT:
        return ()
    return (observation(SHARED_MEMORY, f"{size >> 20} MiB", seen.machine.container),)


def little_locked_memory(seen: Snapshot) -> tuple[Evidence, ...]:
    """Return the limit on locked memory where there is InfiniBand, whose buffers are locked, and too little for it."""
    tools = seen.tools
    if tools is None or not tools.infiniband or tools.locked_memory is None or tools.locked_memory >= ENOUGH_LOCKED:
        return ()
    return (
        observation(LOCKED_MEMORY, f"{tools.locked_memory >> 10} KiB", _("limit of this session")),
        observation("InfiniBand", ", ".join(tools.infiniband), "/sys/class/infiniband"),
    )


def _concerned(seen: Snapshot) -> list[PythonEnvironment]:
    return [p for p in seen.pythons or () if any(BRINGS_NCCL.fullmatch(d.name) for d in p.distributions)]


def must_share_memory(seen: Snapshot) -> bool:
    """Whether variables leave NCCL no way between two GPUs but /dev/shm: no direct access, and no shared memory of CUDA's own.

    Measured with NCCL 2.28.9: without direct access 1 MiB of /dev/shm does; without CUDA's shared memory as well, the first sum ends.
    """
    said = {
        n: v.value.strip()
        for n in ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_CUMEM_HOST_ENABLE")
        if (v := effective_variable(seen, n))
    }
    apart = said.get("NCCL_P2P_DISABLE") == "1" or said.get("NCCL_P2P_LEVEL", "").upper() in ("LOC", "0")
    return apart and said.get("NCCL_CUMEM_HOST_ENABLE") == "0"


def little_memory_between_gpus(seen: Snapshot) -> Iterator[Finding]:
    """Several GPUs, and too little memory of the kind by which they exchange data."""
    concerned = _concerned(seen)
    if not concerned or not has_several_gpus(seen):
        return
    rows = [concern_row(p.consumer("NCCL")) for p in concerned]
    why = _("This matters only to programs that use several GPUs at once: NCCL then ends with a system error.")
    known = observation(_("Known from"), SOURCE)
    if small := small_shared_memory(seen):
        needed = must_share_memory(seen)
        yield make_finding(
            "frameworks.nccl-shared-memory",
            WARNING if needed else NOTE,
            _("Several GPUs exchange data through /dev/shm, and this container has only {size} of it.", size=small[0].value),
            cause="shared_memory_too_small" if needed else "nccl_failed",
            why=why,
            evidence=[*small, known, *rows],
            fix=_more_shared_memory(),
        )  # fmt: skip
    if little := little_locked_memory(seen):
        yield make_finding(
            "frameworks.nccl-locked-memory",
            NOTE,
            _("InfiniBand between GPUs needs locked memory, and this session may lock only {size}.", size=little[0].value),
            cause="nccl_failed",
            why=why,
            evidence=[*little, known, *rows],
            fix=manual_fix(
                _("Let programs lock more memory"),
                _("In a container: start it with {option}.", option="--ulimit memlock=-1"),
                _("Elsewhere: an administrator adds these lines to /etc/security/limits.conf, and you log in again: {lines}",
                  lines="* soft memlock unlimited; * hard memlock unlimited"),
                _("It worked if {command} prints unlimited.", command="ulimit -l"),
            ),
        )  # fmt: skip


def network_that_is_not_there(seen: Snapshot) -> Iterator[Finding]:
    """NCCL is told to use InfiniBand alone, and no port of InfiniBand is active: it takes no other network, between the GPUs of one
    computer either (measured with NCCL 2.28.9). A note where no GPU is: the jobs of a cluster's own machines may have InfiniBand.
    """
    asked = effective_variable(seen, "NCCL_NET")
    homes = [h for h in environment_views(seen) if any(BRINGS_NCCL.fullmatch(d.name) for d in h.python.distributions)]
    if asked is None or asked.value.strip().upper() != "IB" or seen.tools is None or seen.tools.infiniband or not homes:
        return
    if seen.machine.system != "linux":
        return
    yield make_finding(
        "environment.nccl-without-infiniband",
        min(WARNING, max(h.severity for h in homes)) if gpu_side(seen).there else NOTE,
        _("NCCL_NET asks for InfiniBand, which is not active here."),
        cause="variable_value_wrong",
        why=_("NCCL then uses no other network, and programs that use several GPUs end: Failed to initialize any NET plugin."),
        evidence=[
            variable_row(asked),
            observation("InfiniBand", _("no active port"), "/sys/class/infiniband"),
            observation(_("Known from"), NETWORK_SOURCE),
            *(concern_row(h.python.consumer("NCCL")) for h in homes),
        ],
        subject="NCCL_NET",
        fix=manual_fix(
            _("Remove the variable {name}", name="NCCL_NET"),
            _("In this terminal: unset {name}", name="NCCL_NET"),
            restart="terminal",
        ),
        remedy=Unset(variable="NCCL_NET"),
    )  # fmt: skip


def little_memory_for_workers(seen: Snapshot) -> Iterator[Finding]:
    """A program's DataLoader hands over batches through shared memory, of which there is no more than a container's default."""
    tools = seen.tools
    if tools is None or not tools.workers or tools.shared_memory is None or tools.shared_memory > CONTAINER_DEFAULT:
        return
    for home in environment_views(seen):
        torch = home.installed("torch")
        if torch is None or home.near > 2:
            continue
        size = f"{tools.shared_memory >> 20} MiB"
        yield make_finding(
            "frameworks.workers-shared-memory",
            WARNING,
            _("{program} starts worker processes, and {place} has only {size} for their batches.",
              program=tools.workers, place=SHARED_MEMORY, size=size),
            cause="shared_memory_too_small",
            why=_("PyTorch's workers hand over each batch in shared memory: a large one ends them with a bus error."),
            evidence=[
                observation(SHARED_MEMORY, size, seen.machine.container or "statvfs"),
                observation(_("Asks for workers"), "num_workers", tools.workers),
                observation(_("Known from"), WORKERS_SOURCE),
                home.concerns("torch"),
            ],
            subject=SHARED_MEMORY,
            fix=_more_shared_memory(),
        )  # fmt: skip


def _more_shared_memory() -> Fix:
    return manual_fix(
        _("Give the container more shared memory"),
        _("docker and podman: start it with {option}.", option="--shm-size=8g"),
        _("Kubernetes: mount an emptyDir with medium: Memory at /dev/shm."),
    )


RULES = (little_memory_between_gpus, network_that_is_not_there, little_memory_for_workers)
