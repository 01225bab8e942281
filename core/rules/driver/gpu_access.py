"""Rules about programs' access to the GPU: hidden, forbidden, partitioned, full, too new or too old for its driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from core.common.i18n import _, join_sentences, n_, translate_fact
from core.common.shell import shell_command
from core.common.text import join_names
from core.knowledge.causes import OptionalCause
from core.knowledge.kernel_log import kernel_log_table
from core.model.facts import Driver, ExpectedNode, Gpu, Snapshot, Variable
from core.model.findings import Evidence, Finding, Fix
from core.model.remedies import PutCacheAside, SetForEnvironments, Unset
from core.model.steps import Severity
from core.model.variable_names import HIDING_VARIABLES
from core.rules.advice import how_to_unset
from core.rules.counter import CounterOutcome, blame_unless_refuted, cuda_starts, judge_cuda
from core.rules.driver.device_nodes import make_again, node_words, refusal, unfit_nodes
from core.rules.driver.device_order import ends_early, hides_all
from core.rules.driver.facts import answer_unhidden, cuda_libraries, driver_answers, driver_works, has_gpu_on_bus
from core.rules.snapshot_queries import effective_variable
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, manual_fix, observation, variable_row

DEVICE_ORDERS = ("FASTEST_FIRST", "PCI_BUS_ID")
"""Values of CUDA_DEVICE_ORDER (CUDA C++ Programming Guide, "CUDA Environment Variables"); others make cuInit fail with 101."""
MIN_FREE_BYTES = 200 << 20
"""Bytes of free GPU memory below which cuDNN cannot start: its kernels alone need about 150 MB from 8.5 on."""


def hidden_gpus(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A variable hides every GPU: the driver works without it, or its value implies that and nothing refutes it."""
    outcome = judge_cuda(driver.cuda, driver.cuda_unhidden)
    count = driver.nvml.device_count if driver.nvml else None
    names = _hiding(seen, count if count is not None else len(driver.gpus or ()) or None)
    asked = (
        driver.cuda is not None and (driver.cuda.status in (100, 101) or driver.cuda.device_count == 0)
    ) or _of_another_way(driver)
    if outcome is CounterOutcome.PROVED:
        names = names or [v for name in HIDING_VARIABLES if (v := effective_variable(seen, name)) is not None]
    elif outcome is CounterOutcome.CHANGED or not (names and asked):
        return
    yield from blame_unless_refuted(outcome, lambda: _hidden_finding(seen, names, driver_answers(driver), certain=True))


def _of_another_way(driver: Driver) -> bool:
    """Whether the driver answered only without the variable: it belongs to programs started in another way."""
    return driver.cuda is None and cuda_starts(driver.cuda_unhidden)


def hidden_unasked(seen: Snapshot) -> Iterator[Finding]:
    """A variable would hide every GPU, but no driver could be queried (no GPU, or the driver does not start).

    Where there is neither a GPU nor a driver, and no file sets it, as on a server for tests, that is a note.
    """
    driver = seen.driver
    if seen.environment is None or (driver and (driver_works(driver) or tuple(hidden_gpus(seen, driver)))):
        return
    names = [v for v in _hiding(seen, None) if v.name == "CUDA_VISIBLE_DEVICES"]
    if names:
        found = _hidden_finding(seen, names, [], certain=False)
        nothing_to_hide = has_gpu_on_bus(seen) is False and not (driver and cuda_libraries(driver))
        by_a_file = any(v.source not in ("", "environment") for v in names)
        yield replace(found, severity=NOTE) if nothing_to_hide and not by_a_file else found


def _hiding(seen: Snapshot, count: int | None) -> list[Variable]:
    found = [v for name in HIDING_VARIABLES if (v := effective_variable(seen, name)) is not None]
    return [
        v
        for v in found
        if (v.value.strip() not in ("", *DEVICE_ORDERS) if v.name == HIDING_VARIABLES[1] else hides_all(v.value, count))
    ]


def _hidden_finding(seen: Snapshot, names: list[Variable], evidence: list[Evidence], *, certain: bool) -> Finding:
    name = names[0].name if names else "CUDA_VISIBLE_DEVICES"
    where = join_names(dict.fromkeys(v.source for v in names if v.source not in ("", "environment")))
    how = how_to_unset(seen.machine.system, name)
    return make_finding(
        "driver.hidden-by-variable",
        ERROR if certain else WARNING,
        _("The variable {name} hides every GPU from programs.", name=name),
        cause="gpu_hidden_by_env",
        why=join_sentences(
            _(
                "CUDA accepts two values of this variable, {orders}. With any other value, programs get no GPU.",
                orders=join_names(DEVICE_ORDERS),
            )
            if name == HIDING_VARIABLES[1]
            else _(
                "CUDA shows a program only the GPUs that this variable lists. An empty value, -1, a number that "
                "does not exist, a duplicate, or a name that CUDA does not know hides them all, and programs "
                "report that there is no GPU."
            ),
            "" if certain else _("It will do so as soon as there is a working GPU."),
        ),
        evidence=[*map(variable_row, names), *evidence],
        subject=name,
        fix=manual_fix(
            _("Remove the variable {name}", name=name),
            how,
            _("It was set in: {where}.", where=where) if where else "",
            _("If your own script sets it, remove that line."),
            restart="terminal",
        ),
        remedy=Unset(variable=name),
    )


def _why_left_out(wanted: ExpectedNode, driver: Driver) -> str:
    """Return what keeps programs from a GPU's device file; empty if nothing does."""
    shut = next((n for n in reversed(driver.nodes or ()) if n.opened is False and n.path == wanted.path), None)
    if shut is not None:
        return node_words(shut)
    return next((row.evidence().value for row in unfit_nodes(driver) if row.wanted is wanted), "")


def excluded_gpus(seen: Snapshot) -> Iterator[Finding]:
    """CUDA gives a program fewer GPUs than the machine has: each missing one is named, with the reason."""
    driver = seen.driver
    if driver is None or not driver_works(driver) or driver.cuda is None or driver.cuda.device_count is None:
        return
    managed = driver.nvml.device_count if driver.nvml and driver.nvml.status == 0 else None
    served = [n for n in driver.expected_nodes or () if n.gpu]
    unhidden = driver.cuda_unhidden.device_count if driver.cuda_unhidden else None
    whole = max(n for n in (managed, len(served), unhidden, 0) if n is not None)
    count = driver.cuda.device_count
    if count >= whole or any(g.mig for g in driver.gpus or ()):
        return  # The instances of a partitioned GPU are counted.
    rows = [
        observation(_("GPUs of this machine"), str(whole), "NVML"),
        observation("cuInit", str(count), "CUDA driver"),
    ]
    left_out = [
        observation(f"{n.path} ({n.gpu})", reason, "/dev") for n in served if (reason := _why_left_out(n, driver))
    ]
    rows += left_out
    hidden = (unhidden or count) - count
    variables = [v for name in HIDING_VARIABLES if hidden and (v := effective_variable(seen, name)) is not None]
    rows += map(variable_row, variables)
    found = _exclusion(seen, driver, variables, left_out=len(left_out), hidden=hidden, whole=whole)
    yield make_finding(
        "driver.gpus-excluded",
        found.severity,
        n_(
            "Programs get {count} of this machine's {n} GPU.",
            "Programs get {count} of this machine's {n} GPUs.",
            whole,
            count=count,
        ),
        cause=found.cause,
        why=found.why,
        evidence=rows,
        fix=found.fix,
    )


class Exclusion(NamedTuple):
    """What keeps programs from some of the GPUs."""

    severity: Severity
    cause: OptionalCause
    why: str
    fix: Fix | None = None


def _exclusion(
    seen: Snapshot, driver: Driver, variables: list[Variable], *, left_out: int, hidden: int, whole: int
) -> Exclusion:
    """Return why programs get fewer GPUs than the ``whole``: nobody intends a list that CUDA does not read to its end, or a device
    file that leads elsewhere.
    """
    astray = [row for row in unfit_nodes(driver) if row.node is not None and row.wanted.gpu]
    if astray:
        why = _("A device file does not lead to the driver.")
        return Exclusion(WARNING, "device_node_wrong", why, make_again(seen, astray))
    if any(v.name == "CUDA_VISIBLE_DEVICES" and ends_early(v.value, whole) for v in variables):
        fix = manual_fix(
            _("List GPUs that are here, separated by commas"),
            f"export CUDA_VISIBLE_DEVICES={','.join(map(str, range(whole)))}",
            restart="program",
        )
        why = _("CUDA reads CUDA_VISIBLE_DEVICES up to the first word that is no number of a GPU here.")
        return Exclusion(WARNING, "gpu_hidden_by_env", why, fix)
    if left_out + hidden >= whole - (driver.cuda.device_count or 0 if driver.cuda else 0):
        shut = any(refusal(n) == "EACCES" for n in driver.nodes or ())
        why = _(
            "A variable, a device file that is closed or missing, or a control group (container, Slurm, systemd) excludes the others. This may be intended."
        )
        cause: OptionalCause = "gpu_hidden_by_env" if not left_out else "device_node_permission" if shut else ""
        return Exclusion(NOTE, cause, why)
    return Exclusion(
        WARNING,
        "",
        _("The scan did not show why: no variable hides them, and their device files can be opened."),
        manual_fix(
            _("Find out why"),
            _("nvidia-smi -q -d COMPUTE shows the compute mode: Prohibited or Exclusive_Process keeps programs out."),
            _("Check the kernel log: sudo dmesg | grep -i -e nvidia -e nvrm"),
        ),
    )


def blamed_variable(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """CUDA starts without some of this session's variables, which were found by bisection."""
    bare = driver.cuda_bare
    if judge_cuda(driver.cuda, bare) is not CounterOutcome.PROVED:
        return
    names = driver.blamed
    values = [v for n in names if (v := effective_variable(_seen, n)) is not None]
    hides = any(n in HIDING_VARIABLES for n in names)
    yield make_finding(
        "driver.blamed-variable",
        ERROR,
        _("CUDA starts without {names}, but not with it.", names=join_names(names))
        if names
        else _("CUDA starts without this session's variables, but not with them."),
        cause="gpu_hidden_by_env" if hides else "driver_broken_by_env",
        why=_("The same call was made in a new process twice, and only the variables differed."),
        evidence=[
            *map(variable_row, values),
            observation(_("cuInit without these variables"), "0", bare.library if bare else ""),
            *driver_answers(driver),
        ],
        subject=names[0] if names else "",
        fix=manual_fix(
            _("Remove the variable where it is set"),
            *(shell_command("unset", n) for n in names),
            "" if names else _("Compare: env -i HOME=$HOME PATH=$PATH nvidia-smi, then add your variables one by one."),
            restart="terminal",
        ),
        remedy=Unset(variable=names[0]) if len(names) == 1 and names[0] != "LD_LIBRARY_PATH" else None,
    )


def mig_without_instance(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A GPU in MIG mode has no instance, or none is selected."""
    divided, cuda = [g for g in driver.gpus or () if g.mig], answer_unhidden(driver)
    if divided and cuda and (cuda.status == 100 or cuda.device_count == 0):
        yield make_finding(
            "driver.mig",
            ERROR,
            _("The GPU is partitioned (MIG), and programs see no part of it."),
            cause="mig_misconfigured",
            why=_("With MIG on, CUDA offers only the instances that were created, not the whole GPU."),
            evidence=[*(observation(_("GPU with MIG"), g.name, g.source) for g in divided), *driver_answers(driver)],
            fix=manual_fix(
                _("Create an instance, or turn MIG off"),
                _("nvidia-smi -L lists the instances; select one: export CUDA_VISIBLE_DEVICES=MIG-..."),
                _("Or turn MIG off: sudo nvidia-smi -mig 0"),
            ),
        )


def gpu_memory_full(seen: Snapshot) -> Iterator[Finding]:
    """Other programs use nearly all of a GPU's memory."""
    gpus = [g for g in (seen.driver.gpus if seen.driver else ()) or () if not _is_left_out(g, seen)]
    for gpu in gpus:
        if _is_full(gpu):
            roomy = max((g for g in gpus if g.uuid and not _is_full(g)), key=lambda g: g.memory_free or 0, default=None)
            free, total = (gpu.memory_free or 0) >> 20, (gpu.memory_total or 0) >> 20
            yield make_finding(
                "driver.memory-full",
                WARNING,
                _(
                    "The GPU {name} has almost no free memory: {free} of {total} MiB.",
                    name=gpu.name,
                    free=free,
                    total=total,
                ),
                cause="gpu_memory_exhausted",
                why=_(
                    "cuDNN needs several hundred MiB before it computes anything. Now it would fail with "
                    "CUDNN_STATUS_INTERNAL_ERROR or NOT_INITIALIZED, which does not mention memory."
                ),
                evidence=[
                    observation(_("Free memory"), _("{free} MiB of {total} MiB", free=free, total=total), gpu.source)
                ],
                subject=f"GPU {gpu.index}",
                fix=manual_fix(
                    _("Free the GPU's memory"),
                    _("nvidia-smi lists the programs that use it; close them."),
                    _("Or use the other GPU: export CUDA_VISIBLE_DEVICES={uuid}", uuid=roomy.uuid) if roomy else "",
                    restart="program",
                ),
                remedy=SetForEnvironments(variable="CUDA_VISIBLE_DEVICES", value=roomy.uuid)
                if roomy and effective_variable(seen, "CUDA_VISIBLE_DEVICES") is None
                else None,
            )


def _is_full(gpu: Gpu) -> bool:
    """Whether hardly any of a GPU's memory is free."""
    return (
        gpu.memory_free is not None
        and bool(gpu.memory_total)
        and gpu.memory_free < min(MIN_FREE_BYTES, (gpu.memory_total or 0) // 4)
    )


def _is_left_out(gpu: Gpu, seen: Snapshot) -> bool:
    """Whether CUDA_VISIBLE_DEVICES selects GPUs by UUID, but not this one."""
    named = effective_variable(seen, "CUDA_VISIBLE_DEVICES")
    words = [w.strip() for w in named.value.split(",")] if named else []
    by_uuid = bool(words) and all(w.startswith("GPU-") for w in words)
    return by_uuid and bool(gpu.uuid) and not any(gpu.uuid.startswith(w) for w in words)


def compute_cache(seen: Snapshot) -> Iterator[Finding]:
    """The driver's cache of compiled kernels is damaged or belongs to another user."""
    cache = seen.driver.compute_cache if seen.driver else None
    if cache is None or not cache.exists or (cache.writable is not False and cache.index_readable is not False):
        return
    evidence = [
        observation(_("Folder"), cache.path, cache.source),
        observation(_("Owner"), cache.owner or _("unknown")),
    ]
    if cache.problem:
        evidence.append(observation(_("Problem"), translate_fact(cache.problem), cache.path))
    move = shell_command("sudo", "mv", cache.path, f"{cache.path}.old")
    if seen.machine.system == "windows":
        move = shell_command("ren", cache.path, "ComputeCache.old", of="cmd")
    yield make_finding(
        "driver.compute-cache",
        WARNING,
        _("The driver's cache of compiled kernels is not writable for this user.")
        if cache.writable is False
        else _("The driver's cache of compiled kernels is not readable."),
        cause="nv_compute_cache_bad",
        why=_(
            "CUDA keeps the kernels there that it compiled for this GPU. If it cannot, programs start very "
            "slowly, and some fail."
        ),
        evidence=evidence,
        subject=cache.path,
        fix=manual_fix(_("Move the cache away; the driver creates a new one"), move, restart="program"),
        remedy=PutCacheAside(folder=cache.aside) if cache.aside else None,
    )


SAID_BY_THE_CARD = ("unknown", "restart_computer", "check_power")
"""Actions of the catalogue that the steps for every GPU contain already."""


def kernel_log(seen: Snapshot) -> Iterator[Finding]:
    """The kernel logged a hardware fault of the GPU."""
    log = (seen.driver.kernel_log if seen.driver else ()) or ()
    table = kernel_log_table()
    for known in (row for row in table.xids if row.cause == "hardware_fault"):
        lines = [line for line in log if f"): {known.code}," in line and "Xid" in line]
        if lines:
            yield make_finding(
                f"driver.xid-{known.code}",
                WARNING,
                _("The kernel logged a fault of the GPU: {meaning}.", meaning=_(known.meaning)),
                cause="hardware_fault",
                why=n_(
                    "{n} line with Xid {number} since the computer started. NVIDIA lists it as a fault of the GPU "
                    "itself.",
                    "{n} lines with Xid {number} since the computer started. NVIDIA lists it as a fault of the GPU "
                    "itself.",
                    len(lines),
                    number=known.code,
                ),
                evidence=[observation(_("Kernel log"), line.strip(), "kernel") for line in lines[-3:]],
                fix=_card("" if known.action in SAID_BY_THE_CARD else _(table.advice(known))),
            )


def _card(first: str) -> Fix:
    return manual_fix(
        _("Check the card"),
        first,
        _("Shut the computer down, check power cables and cooling, and start it again."),
        _("If it happens again, have the card examined."),
        restart="computer",
    )


RULES = (hidden_unasked, excluded_gpus, gpu_memory_full, compute_cache, kernel_log)
