"""Diagnose: run every rule over a Snapshot, order what they find, and name the one root cause."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from core.facts import Snapshot
from core.findings import Finding
from core.guard import guarded, name_of
from core.rules import RULES, Rule
from core.rules.loads import CONCERNS, in_order, rank
from core.steps import Severity, Step

PRECEDENCE: tuple[str, ...] = (
    # without a driver that starts, nothing else can be seen to work
    "container_no_gpu_runtime",
    "secure_boot_blocks_module",
    "driver_module_not_loaded",
    "wsl_libcuda_not_found",
    "libcuda_wrong_library",
    "driver_library_mismatch",
    "device_node_permission",
    "uvm_stale_after_suspend",
    "mig_misconfigured",
    "hardware_fault",
    "gpu_hidden_by_env",
    "driver_too_old",
    # what was installed cannot use a GPU, or does not start at all
    "tf_native_windows_unsupported",
    "framework_cpu_only_build",
    "page_file_too_small",
    "cpu_instruction_set_missing",
    # a variable or a search order decides which files are used at all
    "ld_library_path_override",
    # what is wrong with the files that are used
    "path_too_long",
    "vc_runtime_missing",
    "library_unreadable",
    "dll_wrong_architecture",
    "corrupt_or_truncated_file",
    "cudnn_sublibrary_missing",
    "mixed_cudnn_sublibraries",
    "cudnn_shadowed",
    "cudnn_major_mismatch",
    "duplicate_framework_packages",
    "python_dll_search_change",
    "cudnn_not_on_search_path",
    "cudnn_not_installed",
    "cudnn_minor_too_old",
    "install_path_characters",
    "zlibwapi_missing",
    # then what they need of CUDA
    "cudnn_cuda_major_mismatch",
    "cuda_toolkit_version_mismatch",
    "cuda_lib_shadowed",
    "cuda_runtime_missing",
    "cuda_not_on_search_path",
    "nvrtc_missing_or_mismatch",
    # and what only some programs, or only this GPU, suffer from
    "gpu_arch_too_old",
    "gpu_arch_too_new",
    "gpu_memory_exhausted",
    "wrong_results",
    "gpu_busy",
    "nv_compute_cache_bad",
    "cuda_path_env_wrong",
    "requirement_broken",
    "process_env_not_inherited",
    "wrong_environment_active",
    "nvcc_toolkit_mismatch_build",
    "upstream_packaging_bug",
)
"""From root to leaf. Among findings of the same severity about equally important programs, the first one is primary."""

NEVER = ("no_nvidia_gpu",)
"""Causes that are no fault, so never primary."""

ASIDE = "cudnn.unused-", "toolkit.unused-", "cudnn.header-differs"
"""Starts of ids that are about something that no examined program loads: never primary."""

DRIVER_EXPLAINS = ("cudnn.roll-call-failed", "driver.cuda-init", "benchmark.ladder-driver", "benchmark.ladder-device")
"""Ids that follow from any fault of the driver."""


def diagnose(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Return all findings, worst first, with at most one of them primary. A rule that fails is one of them."""
    found = _once(judged(snapshot))
    important = _important(snapshot)
    primary = min((f for f in found if _may_be_root(f)), key=lambda f: _place(f, important), default=None)
    if primary is not None:
        found = [_explained(f, primary) for f in found]
    return worst_first(found)


def worst_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings worst first, the primary one before others of its severity."""
    steps = list(Step)
    return tuple(sorted(found, key=lambda f: (-f.severity, not f.primary, bool(f.follows_from), steps.index(f.step))))


def judged(snapshot: Snapshot) -> list[Finding]:
    """Return what every rule finds; of one that fails what it found until then, and a finding that says so."""
    found: list[Finding] = []
    for rule in RULES:
        guarded(partial(_collect, rule, snapshot, found), name_of(rule), found, None)
    return found


def _collect(rule: Rule, snapshot: Snapshot, found: list[Finding]) -> None:
    for finding in rule(snapshot):
        found.append(finding)


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """Keep one finding of each identity (id and subject): the worst."""
    kept: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        old = kept.get((finding.id, finding.subject))
        if old is None or finding.severity > old.severity:
            kept[finding.id, finding.subject] = finding
    return list(kept.values())


def _may_be_root(finding: Finding) -> bool:
    """Whether a finding can be the root cause: a fault with a name, about something that is used."""
    return (
        finding.severity >= Severity.WARNING and finding.cause not in ("", *NEVER) and not finding.id.startswith(ASIDE)
    )


def _important(snapshot: Snapshot) -> frozenset[str]:
    """Return what marks findings about a program that the person named, else about one that is active."""
    ordered = in_order(snapshot)
    best = min((rank(snapshot, c.load.consumer.prefix) for c in ordered), default=3)
    if best > 1:
        return frozenset()
    return frozenset(c.concerns.value for c in ordered if rank(snapshot, c.load.consumer.prefix) == best)


def _place(finding: Finding, important: frozenset[str]) -> tuple[int, bool, int]:
    """Return where a finding stands among possible roots: severity, then whom it concerns, then PRECEDENCE.

    A fault of the driver concerns every program, so also the important ones.
    """
    concerned = {e.value for e in finding.evidence if e.label == CONCERNS}
    elsewhere = bool(important and concerned) and not concerned & important
    order = PRECEDENCE.index(finding.cause) if finding.cause in PRECEDENCE else len(PRECEDENCE)
    return -finding.severity, elsewhere, order


def _explained(finding: Finding, primary: Finding) -> Finding:
    """Mark the primary, and what follows from it."""
    if finding is primary:
        return replace(finding, primary=True)
    if finding.severity < Severity.UNKNOWN or finding.id == primary.id:
        return finding
    concerned = {e.value for e in finding.evidence if e.label == CONCERNS}
    same = concerned & {e.value for e in primary.evidence if e.label == CONCERNS}
    by_driver = primary.step is Step.DRIVER and (finding.id in DRIVER_EXPLAINS)
    shared = bool(finding.subject) and finding.subject in (primary.subject, *primary.subject.split(" and "))
    by_files = primary.step is Step.CUDNN and (bool(same) or shared) and finding.step in (Step.CUDNN, Step.BENCHMARK)
    tried = finding.id.startswith("frameworks.trial-") and not finding.cause
    by_driver = by_driver or (tried and primary.step is Step.DRIVER)
    by_files = by_files or (tried and bool(same))
    by_driver = by_driver or (primary.cause == "driver_too_old" == finding.cause)
    by_path = finding.id == "environment.broken-entry" and primary.cause.endswith("_not_on_search_path")
    return replace(finding, follows_from=primary.id) if by_driver or by_files or by_path else finding
