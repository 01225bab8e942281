"""Rules about whether driver, CUDA and cuDNN suit this GPU: the driver is too old, or there is no machine code for the GPU."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, join_sentences, translate_fact
from core.common.text import join_names
from core.common.versions import is_older, version_tuple
from core.knowledge.horizon import is_beyond_horizon
from core.knowledge.releases import Compatibility, Gpus, compatibility_table, driver_floor
from core.knowledge.tables import read_table
from core.model.facts import CudnnCopy, Gpu, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import is_inside
from core.model.steps import Severity
from core.rules.consumer_loads import ConsumerLoad, by_importance, describe_copy
from core.rules.driver.device_order import use_alone, visible_gpus
from core.rules.driver.facts import driver_works
from core.rules.snapshot_queries import capability_number
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, manual_fix, observation


def driver_too_old(seen: Snapshot) -> Iterator[Finding]:
    """The newest CUDA that the driver supports is older than what a program contains or the machine has installed."""
    driver = seen.driver
    if driver is None:
        return
    most, version = driver.newest_cuda, driver.version
    if not most and not version:
        return
    known = compatibility_table()
    told: set[str] = set()
    for cuda, who, where, severity in _needs(seen):
        if not version_tuple(cuda) or is_beyond_horizon("cuda", cuda):
            continue
        needed, floor, source = _too_old(known, cuda, most, version, seen)
        major = str(version_tuple(cuda)[0])
        if not needed or major in told:
            continue
        told.add(major)
        yield make_finding(
            "driver.too-old",
            severity,
            _too_old_title(version, major, who),
            cause="driver_too_old",
            why=join_sentences(
                _("This driver runs CUDA up to {most}.", most=most)
                if most
                else _("This driver is older than {floor}.", floor=floor),
                _(
                    "A driver runs programs that were built for its own CUDA major version or an older one, not for "
                    "a newer major."
                ),
            ),
            evidence=[
                observation(_("Driver"), version or _("unknown"), "NVML"),
                *([observation(_("Newest CUDA that this driver runs"), most, "cuDriverGetVersion")] if most else []),
                observation(_("CUDA that is needed"), cuda, where),
                *([observation(_("Oldest driver for it"), floor, source)] if floor else []),
            ],
            subject=f"CUDA {major}",
            fix=_newer_driver(seen, floor, major),
        )


def _too_old_title(version: str | None, major: str, who: str) -> str:
    if not version:
        return _("The GPU driver is too old for CUDA {major}, which {who} uses.", major=major, who=who)
    return _(
        "The GPU driver {version} is too old for CUDA {major}, which {who} uses.", version=version, major=major, who=who
    )


def _too_old(
    known: Compatibility, cuda: str, most: str | None, version: str | None, seen: Snapshot
) -> tuple[bool, str, str]:
    floor, source = driver_floor(known, cuda, seen.machine.system)
    if most:
        exact = version_tuple(cuda)[0] < 11
        wanted = cuda if exact else str(version_tuple(cuda)[0])
        return bool(is_older(most, wanted)), floor, source
    return bool(floor and is_older(version, floor)), floor, source


def _needs(seen: Snapshot) -> Iterator[tuple[str, str, str, Severity]]:
    """Yield CUDA version, who uses it, where it was seen, and the severity if the driver does not support it."""
    for c in by_importance(seen):
        copy = c.own or c.copy
        if copy and copy.cuda_major:
            severity = WARNING if c.load.consumer.kind == "plain" else ERROR
            yield str(copy.cuda_major), translate_fact(c.load.consumer.label), copy.folder, severity
    prefixes = [p.prefix for p in seen.pythons or ()]
    for toolkit in seen.toolkits or ():
        if not toolkit.version or not version_tuple(toolkit.version):
            continue
        home = next((p for p in prefixes if is_inside(seen.machine.system, toolkit.root, p)), "")
        if home:
            yield toolkit.version, _("the environment {home}", home=home), toolkit.folder or toolkit.root, ERROR
        else:
            yield toolkit.version, _("the toolkit in {root}", root=toolkit.root), toolkit.root, WARNING


def _newer_driver(seen: Snapshot, floor: str, major: str) -> Fix:
    at_least = _("{floor} or newer", floor=floor) if floor else _("one that runs CUDA {major}", major=major)
    if seen.machine.system == "windows" or seen.machine.wsl:
        step = _(
            "Install driver {at_least} for this GPU from www.nvidia.com/drivers (on Windows, not inside WSL).",
            at_least=at_least,
        )
    elif is_tegra(seen):
        step = _("The driver of a Jetson is part of JetPack: install a JetPack with {at_least}.", at_least=at_least)
    elif seen.machine.container:
        step = _("The driver belongs to the host: have {at_least} installed there.", at_least=at_least)
    else:
        step = _("Install driver {at_least} from your distribution, and restart the computer.", at_least=at_least)
    return manual_fix(
        _("Install a newer driver"),
        step,
        _("Or install packages that were built for an older CUDA than {major}.", major=major),
        restart="computer",
    )


# --- machine code ----------------------------------------------------------------------------------------


def machine_code(seen: Snapshot) -> Iterator[Finding]:
    """A copy of cuDNN that a consumer loads has no machine code for a GPU of this machine."""
    if seen.driver is None:
        return
    told: set[tuple[str, str]] = set()
    gpus = visible_gpus(seen)
    for c in by_importance(seen):
        copy = c.copy or c.own
        for gpu in gpus:
            key = (copy.folder if copy else "", gpu.compute_capability or "")
            if copy and key not in told:
                told.add(key)
                fit = [g for g in gpus if _is_fit(copy, g, seen)]
                if gpu not in fit:
                    yield _without_code(c, copy, gpu, fit if gpus[0] in fit else [])


def code_of(copy: CudnnCopy, seen: Snapshot) -> tuple[tuple[int, ...] | None, str]:
    """Return the architectures for which all GPU libraries of a copy have machine code, from its files, else from the tables."""
    if copy.sass:
        return copy.sass, _("machine code in the files")
    wanted = (version_tuple(copy.version)[:3], copy.cuda_major, seen.machine.system, seen.machine.architecture)
    for row in compatibility_table().cudnn:
        if (version_tuple(row.version)[:3], row.cuda_major, row.system, row.processor) == wanted and row.verified:
            return row.sass, row.source
    return None, ""


TEGRA_CAPABILITIES = (53, 62, 72, 87, 101, 110)
"""Capabilities of Jetson and other Tegra systems, which run only machine code built for them (10.1 was renamed 11.0)."""


def is_tegra(seen: Snapshot) -> bool:
    """Whether this is a Jetson or other Tegra system: by its release file or device tree, its kernel's name or its GPU."""
    gpus = (seen.driver.gpus or ()) if seen.driver else ()
    return seen.machine.architecture == "aarch64" and (
        bool(seen.machine.tegra)
        or "tegra" in seen.machine.kernel
        or any(capability_number(g.compute_capability) in TEGRA_CAPABILITIES for g in gpus)
    )


def code_runs(sass: tuple[int, ...], gpu: int, bound: tuple[str, ...] = ()) -> bool | None:
    """Whether machine code runs on a GPU: the same major version, and no higher minor version.

    Code ``bound`` to one architecture (sm_100a) runs only there. None: newer than the tables, or a Tegra without code
    of its own, for which the rule does not hold.
    """
    if is_beyond_horizon("gpu", f"{gpu // 10}.{gpu % 10}"):
        return None
    if gpu in sass:
        return True
    if gpu in TEGRA_CAPABILITIES:
        return None
    return any(code // 10 == gpu // 10 and code < gpu and f"sm_{code}a" not in bound for code in sass)


def ptx_compiles(ptx: tuple[int, ...], gpu: int, bound: tuple[str, ...]) -> bool:
    """Whether the driver can compile PTX for a GPU: for any newer one; family-specific PTX within the family,
    architecture-specific PTX only there.
    """
    return any(
        code == gpu
        or (
            code < gpu
            and f"compute_{code}a" not in bound
            and (code // 10 == gpu // 10 or f"compute_{code}f" not in bound)
        )
        for code in ptx
    )


def _is_fit(copy: CudnnCopy, gpu: Gpu, seen: Snapshot) -> bool:
    """Whether nothing shows that a copy has no machine code for a GPU."""
    capability, sass = capability_number(gpu.compute_capability), code_of(copy, seen)[0]
    if capability is None or not sass or is_beyond_horizon("cudnn", copy.major):
        return True
    return code_runs(sass, capability, copy.bound) is not False


def _without_code(c: ConsumerLoad, copy: CudnnCopy, gpu: Gpu, fit: list[Gpu]) -> Finding:
    """``fit``: other GPUs, if programs that name none use one of them."""
    capability = capability_number(gpu.compute_capability) or 0
    sass, source = code_of(copy, c.seen)
    sass = sass or ()
    compiled = ptx_compiles(copy.ptx or (), capability, copy.bound)
    new = capability > min(sass)
    rows = [
        _gpu_row(gpu),
        observation(_("Machine code in this cuDNN"), join_names((f"{s // 10}.{s % 10}" for s in sass), 20), source),
    ]
    if copy.ptx:
        rows.append(
            observation(_("PTX in this cuDNN"), join_names(f"{p // 10}.{p % 10}" for p in copy.ptx), _("files"))
        )
    return make_finding(
        "driver.gpu-too-new" if new else "driver.gpu-too-old",
        WARNING if fit or (compiled and new) else ERROR,
        _(
            "{copy} has no machine code for the {name}, which is too new for it.",
            copy=describe_copy(copy),
            name=gpu.name,
        )
        if new
        else _(
            "{copy} has no machine code for the {name}, which is too old for it.",
            copy=describe_copy(copy),
            name=gpu.name,
        ),
        cause="gpu_arch_too_new" if new else "gpu_arch_too_old",
        why=join_sentences(
            _(compatibility_table().fact("machine_code").fact),
            _("Here the driver must first compile cuDNN's PTX, which is slow and does not cover every function.")
            if compiled and new
            else "",
            _("Programs that do not choose a GPU use the {name}, for which it has code.", name=fit[0].name)
            if fit
            else "",
        ),
        evidence=[*rows, c.concerns],
        subject=copy.folder,
        fix=use_alone(fit, c.seen) if fit and not new else _other_release(c, copy, gpu, capability, new=new),
    )


def _other_release(c: ConsumerLoad, copy: CudnnCopy, gpu: Gpu, capability: int, *, new: bool) -> Fix:
    here = (c.system, c.seen.machine.architecture)
    rows = [
        r
        for r in compatibility_table().cudnn
        if (r.system, r.processor) == here and code_runs(r.sass, capability) and r.verified
    ]
    rows = [r for r in rows if r.cuda_major == copy.cuda_major] or rows
    pick = (min if new else max)(rows, key=lambda r: version_tuple(r.version), default=None)
    architecture = next(
        (a for a in read_table("gpus", Gpus).architectures if gpu.compute_capability in a.compute_capability), None
    )
    ended = ""
    if not new and architecture and architecture.last_cuda:
        ended = _(
            "CUDA {last_cuda} is the last version that supports the {architecture} generation ({source}).",
            last_cuda=architecture.last_cuda,
            architecture=architecture.architecture,
            source=architecture.source,
        )
    step = ""
    if pick:
        values = {"version": pick.version, "cuda": pick.cuda_major, "source": pick.source}
        step = (
            _("cuDNN {version} for CUDA {cuda} has machine code for this GPU, as do newer ones ({source}).", **values)
            if new
            else _(
                "cuDNN {version} for CUDA {cuda} has machine code for this GPU; it is the newest that is known "
                "to have it ({source}).",
                **values,
            )
        )
    return manual_fix(
        _("Use a release that was built for this new GPU")
        if new
        else _("Use a release that was built for this older GPU"),
        step,
        ended,
        _("For a framework: install its release that was built with that cuDNN; check its own list of supported GPUs."),
        restart="program",
    )


def toolkit_compiler(seen: Snapshot) -> Iterator[Finding]:
    """The toolkit's compiler does not support this GPU, which matters only to those who compile."""
    if seen.driver is None or not driver_works(seen.driver):
        return
    rows = {version_tuple(r.cuda)[:2]: r for r in compatibility_table().toolkits}
    for toolkit in seen.toolkits or ():
        row = rows.get(version_tuple(toolkit.nvcc_version or toolkit.version)[:2])
        for gpu in seen.driver.gpus or ():
            capability = capability_number(gpu.compute_capability)
            if not toolkit.nvcc or row is None or capability is None or code_runs(row.sm, capability) is not False:
                continue
            yield make_finding(
                "toolkit.compiler-without-gpu",
                NOTE,
                _(
                    "The compiler of CUDA {cuda} cannot generate machine code for the {name}.",
                    cuda=row.cuda,
                    name=gpu.name,
                ),
                cause="compiler_lacks_gpu_arch",
                why=_("This matters only if you compile CUDA programs or extensions with it."),
                evidence=_compiler_rows(gpu, row.cuda, row.source, toolkit.nvcc),
                subject=toolkit.root,
            )
            break


def _gpu_row(gpu: Gpu) -> Evidence:
    words = _(
        "{name}, compute capability {compute_capability}", name=gpu.name, compute_capability=gpu.compute_capability
    )
    return observation("GPU", words, gpu.source)


def _compiler_rows(gpu: Gpu, cuda: str, source: str, nvcc: str) -> list[Evidence]:
    return [_gpu_row(gpu), observation(_("Compiler"), _("{nvcc} of CUDA {version}", nvcc=nvcc, version=cuda), source)]


RULES = (driver_too_old, machine_code, toolkit_compiler)
