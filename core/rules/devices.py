"""Rules about the GPU as programs get it: hidden, forbidden, divided, full, too new or too old for its driver."""

from __future__ import annotations

from collections.abc import Iterator

from core.facts import Driver, Snapshot, Variable
from core.findings import Evidence, Finding, Fix
from core.i18n import _, n_, sentences, told
from core.rules.driver_facts import answers, said, works
from core.rules.known import code
from core.rules.view import variable
from core.rules.words import ERROR, WARNING, advice, finding, listed, saw
from core.steps import Step
from core.versions import whole_number

HIDING = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""Variables that choose the GPUs that CUDA shows to a program; the last two matter to containers and to few programs."""
LITTLE = 200 << 20
"""Bytes of free GPU memory below which cuDNN cannot even start: its kernels alone take about 150 MB from 8.5 on."""
RECENT_XIDS = (48, 79)


def hides_all(value: str, count: int | None) -> bool | None:
    """Whether this CUDA_VISIBLE_DEVICES hides every GPU; None where that depends on what is not known.

    The driver takes indices up to the first that is invalid; an empty value or -1 hides all (CUDA C++ Programming
    Guide, "CUDA Environment Variables").
    """
    first = value.split(",", maxsplit=1)[0].strip()
    if first in ("", "-1", "NoDevFiles", "none", "void"):
        return True
    index = whole_number(first)
    if index is not None:
        return None if count is None else index >= count
    return True if first.startswith("-") else None


def hidden(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A variable hides every GPU, and the driver answers without it."""
    count = driver.nvml.device_count if driver.nvml else None
    names = _hiding(seen, count if count is not None else len(driver.gpus or ()) or None)
    proved = bool(driver.cuda_unhidden and driver.cuda_unhidden.status == 0 and driver.cuda_unhidden.device_count != 0)
    asked = driver.cuda is not None and (driver.cuda.status in (100, 101) or driver.cuda.device_count == 0)
    if not (proved and asked) and not (names and asked):
        return
    extra = []
    if driver.cuda_unhidden:
        extra = [saw(_("cuInit without the variable"), said(driver.cuda_unhidden), driver.cuda_unhidden.library)]
    yield _hidden(seen, names, answers(driver) + extra, certain=True)


def hidden_unasked(seen: Snapshot) -> Iterator[Finding]:
    """A variable would hide every GPU, where no driver could be asked (no GPU, or the driver does not start)."""
    driver = seen.driver
    if seen.environment is None or (driver and (works(driver) or tuple(hidden(seen, driver)))):
        return
    names = [v for v in _hiding(seen, None) if v.name == "CUDA_VISIBLE_DEVICES"]
    if names:
        yield _hidden(seen, names, [], certain=False)


def _hiding(seen: Snapshot, count: int | None) -> list[Variable]:
    found = [v for name in HIDING if (v := variable(seen, name)) is not None]
    return [v for v in found if hides_all(v.value, count)]


def _hidden(seen: Snapshot, names: list[Variable], evidence: list[Evidence], *, certain: bool) -> Finding:
    name = names[0].name if names else "CUDA_VISIBLE_DEVICES"
    windows = seen.machine.system == "windows"
    where = listed(dict.fromkeys(v.source for v in names if v.source not in ("", "environment")))
    how = (
        _("Remove it in the Start menu under Edit environment variables.")
        if windows
        else _("In this terminal: unset {name}.", name=name)
    )
    return finding(
        Step.DRIVER,
        ERROR if certain else WARNING,
        "hidden-by-variable",
        _("The variable {name} hides every GPU from programs.", name=name),
        cause="gpu_hidden_by_env",
        why=sentences(
            _(
                "CUDA shows a program only the GPUs that this variable names. An empty value, -1 or a number "
                "that does not exist hides them all, and programs say that there is no GPU."
            ),
            "" if certain else _("It will do so as soon as there is a GPU that works."),
        ),
        evidence=[*(saw(v.name, repr(v.value), v.source or v.scope) for v in names), *evidence],
        subject=name,
        fix=advice(
            _("Remove the variable {name}", name=name),
            how,
            _("It was set in: {where}.", where=where) if where else "",
            _("If your own script sets it, remove that line."),
            restart="terminal",
        ),
    )


def permission(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The GPU's device nodes are closed to this user."""
    shut = [n for n in driver.nodes or () if n.opened is False and _forbidden(n.problem)]
    if not shut or (driver.cuda and driver.cuda.status == 0):
        return
    groups = sorted({n.group for n in shut if n.group and n.group != "root"})
    join = _("sudo usermod -aG {groups} $USER, then log out and in again.", groups=",".join(groups)) if groups else ""
    yield finding(
        Step.DRIVER,
        ERROR,
        "node-permission",
        _("This user may not open the GPU's device files."),
        cause="device_node_permission",
        why=_("The driver is loaded, but the files through which programs reach it are closed to this user."),
        evidence=[
            *(saw(n.path, f"{n.mode} {n.owner}:{n.group} {told(n.problem)}".strip(), "/dev") for n in shut),
            *answers(driver),
        ],
        fix=advice(
            _("Let this user open the device files"),
            join,
            "" if join else _("Ask the administrator for access: the files' owner and mode are shown above."),
            restart="session" if join else "",
        ),
    )


def _forbidden(problem: str) -> bool:
    return any(word in problem.lower() for word in ("permission", "denied", _("not permitted"), "eacces", "eperm"))


def mig(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A divided GPU of which no part exists or is named."""
    divided = [g for g in driver.gpus or () if g.mig]
    if divided and driver.cuda and (driver.cuda.status == 100 or driver.cuda.device_count == 0):
        yield finding(
            Step.DRIVER,
            ERROR,
            "mig",
            _("The GPU is divided (MIG), and programs see no part of it."),
            cause="mig_misconfigured",
            why=_("With MIG on, CUDA offers only the parts that were made, not the whole GPU."),
            evidence=[*(saw(_("GPU with MIG"), g.name, g.source) for g in divided), *answers(driver)],
            fix=advice(
                _("Make a part, or turn MIG off"),
                _("nvidia-smi -L lists the parts; name one: export CUDA_VISIBLE_DEVICES=MIG-..."),
                _("Or turn MIG off: sudo nvidia-smi -mig 0"),
            ),
        )


def memory(seen: Snapshot) -> Iterator[Finding]:
    """Other programs hold nearly all of a GPU's memory."""
    for gpu in (seen.driver.gpus if seen.driver else ()) or ():
        if gpu.memory_free is not None and gpu.memory_total and gpu.memory_free < min(LITTLE, gpu.memory_total // 4):
            free, total = gpu.memory_free >> 20, gpu.memory_total >> 20
            yield finding(
                Step.DRIVER,
                WARNING,
                "memory-full",
                _(
                    "The GPU {name} has almost no free memory: {free} of {total} MiB.",
                    name=gpu.name,
                    free=free,
                    total=total,
                ),
                cause="gpu_memory_exhausted",
                why=_(
                    "cuDNN needs some hundred MiB before it computes anything. Now it would fail with "
                    "CUDNN_STATUS_INTERNAL_ERROR or NOT_INITIALIZED, which does not name memory."
                ),
                evidence=[saw(_("Free memory"), _("{free} MiB of {total} MiB", free=free, total=total), gpu.source)],
                subject=f"GPU {gpu.index}",
                fix=advice(
                    _("Free the GPU's memory"),
                    _("nvidia-smi lists the programs that hold it; close them."),
                    restart="program",
                ),
            )


def compute_cache(seen: Snapshot) -> Iterator[Finding]:
    """The driver's cache of compiled kernels is damaged or belongs to another user."""
    cache = seen.driver.compute_cache if seen.driver else None
    if cache is None or not cache.exists or (cache.writable is not False and cache.index_readable is not False):
        return
    evidence = [saw(_("Folder"), cache.path, cache.source), saw(_("Owner"), cache.owner or _("unknown"))]
    if cache.problem:
        evidence.append(saw(_("Problem"), told(cache.problem), cache.path))
    move = f'sudo mv "{cache.path}" "{cache.path}.old"'
    if seen.machine.system == "windows":
        move = f'ren "{cache.path}" ComputeCache.old'
    yield finding(
        Step.DRIVER,
        WARNING,
        "compute-cache",
        _("The driver's cache of compiled kernels cannot be written by this user.")
        if cache.writable is False
        else _("The driver's cache of compiled kernels cannot be read."),
        cause="nv_compute_cache_bad",
        why=_(
            "CUDA keeps kernels there that it compiled for this GPU. If it cannot, programs start very "
            "slowly, and some fail."
        ),
        evidence=evidence,
        subject=cache.path,
        fix=advice(_("Move the cache aside; the driver makes a new one"), move, restart="program"),
    )


def kernel_log(seen: Snapshot) -> Iterator[Finding]:
    """The kernel logged a fault of the GPU itself."""
    for number in RECENT_XIDS:
        lines = [
            x for x in (seen.driver.kernel_log if seen.driver else ()) or () if f"): {number}," in x and "Xid" in x
        ]
        known = code("xid", number)
        if lines and known:
            yield finding(
                Step.DRIVER,
                WARNING,
                f"xid-{number}",
                _("The kernel has logged a fault of the GPU: {meaning}.", meaning=_(known.meaning)),
                cause="hardware_fault",
                why=n_(
                    "{n} line with Xid {number} since the start of the computer. Power, heat or a fault of the card cause that.",
                    "{n} lines with Xid {number} since the start of the computer. Power, heat or a fault of the card cause that.",
                    len(lines),
                    number=number,
                ),
                evidence=[saw(_("Kernel log"), line.strip(), "kernel") for line in lines[-3:]],
                fix=_card(),
            )


def _card() -> Fix:
    return advice(
        _("Check the card"),
        _("Shut the computer down, check power cables and cooling, and start it again."),
        _("If it returns, have the card examined."),
        restart="computer",
    )


RULES = (hidden_unasked, memory, compute_cache, kernel_log)
