"""Causes and reasons for the benchmark's rules: why a rung failed, why a card is slow, who else uses it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.common.i18n import _, format_plain_number
from core.knowledge.causes import Cause, OptionalCause
from core.model.facts import GpuProcess, GpuRun, GpuState, Mapped, RateLimit, Rung, Snapshot, System, Timing
from core.model.findings import Evidence, Fix
from core.model.paths import file_name, normalise, parent
from core.rules.counter import CounterOutcome, judge_cuda
from core.rules.snapshot_queries import cudnn_mapped
from core.rules.wording import CONCERNS_LABEL, Concern, manual_fix, observation

GIB = 1 << 30
NEARLY_FULL_SHARE = 0.06
"""Fraction of a card's memory below which little can run; a desktop leaves more."""
BUSY_PERCENT = 15
"""GPU load in percent before the benchmark from which another program is computing; drawing a desktop takes less."""
WORKING_PERCENT = 50
"""GPU load in percent from which a sample counts as taken during the work."""

DRIVER_CAUSES: dict[int, Cause] = {
    2: "gpu_memory_exhausted",
    34: "libcuda_wrong_library",
    100: "gpu_hidden_by_env",
    101: "gpu_hidden_by_env",
    214: "hardware_fault",
    220: "hardware_fault",
    221: "driver_component_missing",
    803: "driver_library_mismatch",
    804: "cuda_compat_unsupported",
}
CUDNN_CAUSES: dict[int, Cause] = {
    14: "mixed_cudnn_sublibraries",
    1002: "mixed_cudnn_sublibraries",
    1008: "cudnn_sublibrary_missing",
    3009: "cudnn_sublibrary_missing",
    4004: "gpu_memory_exhausted",
}


def cause_of(rung: Rung, run: GpuRun, seen: Snapshot) -> OptionalCause:
    """Return the cause that a failed rung proves; empty if its status leaves several open."""
    if rung.status == 0:
        # Every call succeeded and the result is wrong; below cuDNN only our own kernel and plain copies run.
        return "hardware_fault" if rung.layer == "device" else ""
    if memory_short(run) and (
        rung.status in (2, 4000, 4, 4004) or rung.call.startswith(("cuMemAlloc", "cuDevicePrimary"))
    ):
        return "gpu_memory_exhausted"
    if rung.call.startswith("cudnn"):
        return CUDNN_CAUSES.get(rung.status or -1, "")
    if rung.call.startswith("cu") and not rung.call.startswith("cublas"):
        return _driver_cause(DRIVER_CAUSES.get(rung.status or -1, ""), seen)
    if rung.call.startswith("nvrtc"):
        return "nvrtc_missing_or_mismatch"
    return ""


def _driver_cause(cause: OptionalCause, seen: Snapshot) -> OptionalCause:
    """Return the cause that a driver's status names, unless this machine's counter-experiments refute it."""
    driver = seen.driver
    if cause == "gpu_hidden_by_env":
        outcome = judge_cuda(driver.cuda, driver.cuda_unhidden) if driver else CounterOutcome.OPEN
        return cause if hiding_variable(seen) and outcome in (CounterOutcome.PROVED, CounterOutcome.OPEN) else ""
    if (
        cause == "driver_library_mismatch"
        and driver
        and judge_cuda(driver.cuda, driver.cuda_clean) is CounterOutcome.PROVED
    ):
        return "cuda_compat_mismatch"
    return cause


def hiding_variable(seen: Snapshot) -> str:
    """Return the name and value of CUDA_VISIBLE_DEVICES in programs' environment; empty if it is not set."""
    return next((f"{v.name}={v.value}" for v in seen.variables if v.name.upper() == "CUDA_VISIBLE_DEVICES"), "")


def not_as_predicted(mapped: Iterable[Mapped], predicted: Iterable[str], system: System) -> list[tuple[str, Mapped]]:
    """Return each mapped file of cuDNN that is another than the predicted one of its name, with that one."""
    meant = {library_stem(file_name(system, p)): p for p in predicted}
    found = [(meant[stem], m) for m in cudnn_mapped(mapped) if (stem := library_stem(m.name)) in meant]
    return [(path, m) for path, m in found if normalise(system, m.path) != normalise(system, path)]


def prediction_rows(differ: list[tuple[str, Mapped]]) -> list[Evidence]:
    """Return such files as evidence."""
    return [observation(m.name, _("used {path}, predicted {p}", path=m.path, p=p)) for p, m in differ[:6]]


def folders_of(mapped: Iterable[Mapped], system: System) -> tuple[str, ...]:
    """Return the folders from which cuDNN's files were mapped."""
    return tuple(dict.fromkeys(normalise(system, parent(system, m.path)) for m in cudnn_mapped(mapped)))


def memory_short(run: GpuRun) -> bool:
    """Whether nearly all of the card's memory was in use before the benchmark started."""
    free, total = run.before.memory_free if run.before else None, run.card.memory_total if run.card else None
    return free is not None and bool(total) and (free < NEARLY_FULL_SHARE * (total or 1) or free < GIB // 4)


def gpu_holders(run: GpuRun) -> list[Evidence]:
    """Return the processes that used the GPU before the benchmark, the largest first."""
    before = run.before
    if before is None:
        return []
    rows = [observation(*_process(p), _("NVML, before the benchmark")) for p in _greediest(before)]
    if before.memory_free is not None and run.card and run.card.memory_total:
        free, total = before.memory_free / GIB, run.card.memory_total / GIB
        rows.append(
            observation(
                _("Free memory"),
                _("{free} of {total} GiB", free=format_plain_number(free, 1), total=format_plain_number(total, 1)),
                _("NVML, before the benchmark"),
            )
        )
    return rows


def _greediest(state: GpuState) -> list[GpuProcess]:
    return sorted(state.processes or (), key=lambda p: -(p.memory or 0))


def _process(p: GpuProcess) -> tuple[str, str]:
    name = p.name or _("unnamed")
    if not p.memory:
        return _("Process on the GPU"), _("{name} (number {pid})", name=name, pid=p.pid)
    size = format_plain_number(p.memory / GIB, 1)
    return _("Process on the GPU"), _("{name} (number {pid}, {size} GiB)", name=name, pid=p.pid, size=size)


def is_busy(run: GpuRun) -> bool:
    """Whether other programs computed on the GPU before the benchmark started."""
    return bool(run.before and run.before.load is not None and run.before.load >= BUSY_PERCENT)


def working_states(run: GpuRun) -> tuple[GpuState, ...]:
    """Return the samples taken while the card was computing."""
    return tuple(s for s in run.states if s.load is not None and s.load >= WORKING_PERCENT)


def limit_fractions(run: GpuRun) -> list[tuple[Timing, RateLimit, float]]:
    """Return the large convolution's timing, limit and fraction of the limit, for each type that has both."""
    found = []
    for limit in run.limits:
        timing = next(
            (
                t
                for t in run.timings
                if t.type == limit.type and t.direction == "forward" and t.teraflops and is_large(t)
            ),
            None,
        )
        if timing and timing.teraflops and limit.teraflops:
            found.append((timing, limit, timing.teraflops / limit.teraflops))
    return found


def is_large(timing: Timing) -> bool:
    """Whether a timing is of the large shape, which keeps all multipliers busy."""
    return timing.label == "3x3, 256 channels"


def gpu_runs(seen: Snapshot) -> tuple[GpuRun, ...]:
    """Return every GPU's run."""
    return seen.benchmark.gpus if seen.benchmark else ()


def gpu_name(run: GpuRun) -> str:
    """Return a GPU in words."""
    return f"GPU {run.index}" + (f" ({run.card.name})" if run.card and run.card.name else "")


def run_subject(run: GpuRun) -> str:
    """Return the subject of a finding about a run."""
    return f"GPU {run.index}"


def run_concerns(run: GpuRun) -> list[Evidence]:
    """Return whom it concerns, as evidence."""
    return [Concern(label=CONCERNS_LABEL, value=run.consumer, consumer=run.consumer_id)] if run.consumer else []


def free_memory(run: GpuRun) -> Fix:
    """Return the steps that free a card's memory."""
    names = [_process(p)[1] for p in _greediest(run.before)] if run.before else []
    return manual_fix(
        _("Free the GPU's memory"),
        *(_("Close this program if you do not need it: {name}", name=name) for name in names[:4]),
        _("Then run the benchmark again."),
    )


def library_stem(name: str) -> str:
    """Return a library's name without its version: libcudnn_ops.so.9.1.0 and libcudnn_ops.so.9 are one library."""
    return re.sub(r"(\.so)[\d.]*$", r"\1", name.lower())
