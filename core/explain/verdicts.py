"""Proves or refutes causes on a Snapshot: a finding proves its cause if a mechanism leads from it to the text; small
pure functions decide the rest.

To add one, write a function ``(reading, seen) -> evidence`` and name it under its cause in PROOFS or REFUTATIONS. It
returns its observations; nothing if the evidence does not decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from core.explain import building, collectives, extensions, proofs, refutations
from core.explain.mechanism.fault_facts import fault_facts, of_finding
from core.explain.mechanism.mechanism import Mechanism, find_mechanism
from core.explain.mechanism.objections import mismatch_with_machine
from core.explain.model import MachineFault
from core.explain.reading import ParsedText
from core.knowledge.causes import Cause
from core.model.facts import Snapshot
from core.model.findings import Evidence, Finding
from core.model.steps import Severity
from core.rules.guard import rule_name, run_guarded

Judge = Callable[[ParsedText, Snapshot], tuple[Evidence, ...]]

PROOFS: dict[Cause, Judge] = {
    "framework_cpu_only_build": proofs.cpu_build,
    "python_dll_search_change": proofs.only_in_path,
    "wrong_environment_active": proofs.in_another_environment,
    "cudnn_major_mismatch": proofs.another_major,
    "cuda_toolkit_version_mismatch": proofs.another_toolkit,
    "cuda_not_on_search_path": proofs.toolkit_beside,
    "cuda_runtime_missing": proofs.no_toolkit,
    "cudnn_not_installed": proofs.no_cudnn,
    "process_env_not_inherited": proofs.older_variables,
    "nvcc_toolkit_mismatch_build": proofs.other_nvcc,
    "container_no_gpu_runtime": building.container_without_gpu,
    "numpy_abi_mismatch": proofs.numpy_two,
    "extension_abi_mismatch": extensions.built_for_another_release,
    "host_compiler_unsupported": building.host_compiler_refused,
    "compiler_lacks_gpu_arch": building.nvcc_lacks_gpu,
    "build_tools_missing": building.no_compiler,
    "linker_lacks_libcuda": building.no_libcuda_link,
    "libdevice_not_found": building.no_libdevice,
    "shared_memory_too_small": building.small_shared_memory,
    "container_cdi_unresolved": building.no_gpu_description,
    "nccl_failed": collectives.nccl_obstacles,
    "other_maker_gpu": building.another_makers_gpu,
}
REFUTATIONS: dict[Cause, tuple[Judge, ...]] = {
    "zlibwapi_missing": (refutations.not_on_linux, refutations.zlib_inside, refutations.zlibwapi_found),
    "cudnn_not_on_search_path": (refutations.cudnn_found,),
    "cudnn_not_installed": (refutations.cudnn_there,),
    "cudnn_sublibrary_missing": (refutations.sets_complete,),
    "cudnn_major_mismatch": (refutations.cudnn_major_found,),
    "cudnn_minor_too_old": (refutations.new_enough,),
    "cudnn_shadowed": (refutations.one_copy,),
    "mixed_cudnn_sublibraries": (refutations.roll_calls_pass,),
    "ld_library_path_override": (refutations.not_on_windows, refutations.no_ld_library_path),
    "library_unreadable": (refutations.all_readable,),
    "corrupt_or_truncated_file": (refutations.all_as_recorded,),
    "dll_wrong_architecture": (refutations.one_architecture,),
    "install_path_characters": (refutations.plain_paths,),
    "cuda_runtime_missing": (refutations.toolkit_there,),
    "cuda_lib_shadowed": (refutations.one_toolkit,),
    "python_dll_search_change": (refutations.not_on_linux,),
    "vc_runtime_missing": (refutations.not_on_linux,),
    "page_file_too_small": (refutations.not_on_linux,),
    "tf_native_windows_unsupported": (refutations.not_on_linux, refutations.no_such_tensorflow),
    "duplicate_framework_packages": (refutations.single_packages,),
    "driver_too_old": (refutations.driver_new_enough,),
    "driver_library_mismatch": (refutations.not_on_windows, refutations.driver_starts),
    "driver_module_not_loaded": (refutations.driver_starts,),
    "secure_boot_blocks_module": (refutations.not_on_windows, refutations.driver_starts),
    "uvm_stale_after_suspend": (refutations.not_on_windows, refutations.driver_starts),
    "device_node_permission": (refutations.not_on_windows, refutations.driver_starts),
    "libcuda_wrong_library": (refutations.driver_starts,),
    "container_no_gpu_runtime": (refutations.no_container, refutations.container_has_gpu),
    "container_lost_devices": (refutations.not_on_windows, refutations.driver_starts),
    "cuda_compat_mismatch": (refutations.not_on_windows, refutations.driver_starts),
    "cuda_compat_unsupported": (refutations.not_on_windows, refutations.driver_starts),
    "open_kernel_module_required": (refutations.not_on_windows, refutations.driver_starts),
    "legacy_driver_required": (refutations.driver_starts,),
    "wsl_libcuda_not_found": (refutations.no_wsl, refutations.driver_starts),
    "gpu_hidden_by_env": (refutations.nothing_hides,),
    "mig_misconfigured": (refutations.not_divided,),
    "nv_compute_cache_bad": (refutations.cache_in_order,),
    "no_nvidia_gpu": (refutations.gpu_there,),
    "extension_abi_mismatch": (extensions.extension_fits,),
    "numpy_abi_mismatch": (refutations.only_numpy_1,),
    "nccl_failed": (refutations.not_on_windows,),
    "jetson_build_required": (refutations.not_a_jetson,),
    "other_maker_gpu": (refutations.driver_starts,),
    "fabric_manager_not_running": (refutations.not_on_windows, refutations.driver_starts),
    "pci_memory_unassigned": (refutations.driver_starts,),
    "libdevice_not_found": (building.libdevice_there,),
    "linker_lacks_libcuda": (refutations.not_on_windows, building.libcuda_link_there),
    "host_compiler_unsupported": (building.host_compiler_accepted,),
    "compiler_lacks_gpu_arch": (building.nvcc_has_gpu,),
    "build_tools_missing": (building.compilers_there,),
    "cxx_runtime_too_old": (refutations.not_on_windows,),
    "shared_memory_too_small": (refutations.not_on_windows, building.large_shared_memory),
    "container_cdi_unresolved": (refutations.not_on_windows, building.gpu_description_there),
}


EXACT_CAUSES: dict[Cause, tuple[Cause, ...]] = {
    "python_dll_search_change": ("cudnn_not_on_search_path", "cuda_not_on_search_path"),
    "process_env_not_inherited": ("cudnn_not_on_search_path", "cuda_not_on_search_path"),
}
"""General cause -> more specific causes, which take over its finding if proved."""

STATE_CAUSES = ("cudnn_major_mismatch", "cudnn_not_installed", "cuda_toolkit_version_mismatch", "cuda_runtime_missing")
"""Proofs that show that something is missing, not who needs it: without a program that needs it, they are only possible."""


@dataclass(frozen=True)
class Judgement:
    """The machine's verdicts on a text's causes, and its other faults."""

    verdicts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Cause -> fields of its RankedCause, for each cause that the machine decides."""
    shows: tuple[MachineFault, ...] = ()
    """Every fault of the machine, the primary first, and how it relates to the text."""
    stranger: str = ""
    """What in the text does not fit this machine, in one sentence."""


Fields = dict[str, dict[str, Any]]


def judge_causes(
    reading: ParsedText, seen: Snapshot | None, findings: tuple[Finding, ...], failures: list[Finding] | None
) -> Judgement:
    """Compare a text with a machine and its findings (worst first, as in a Report).

    A judge that fails adds a finding to ``failures`` and decides nothing.
    """
    if seen is None:
        return Judgement()
    failed = [] if failures is None else failures
    verdicts = _refuted_causes(reading, seen, failed) | _proved_causes(reading, seen, failed)
    shows: list[MachineFault] = []
    for finding in findings:
        if finding.cause and (finding.severity >= Severity.WARNING or finding.primary):
            linked = find_mechanism(reading, of_finding(finding, seen))
            shows.append(machine_fault(finding, linked))
            _enter_finding(verdicts, finding, linked)
    _prefer_specific(verdicts)
    return Judgement(verdicts, tuple(shows), mismatch_with_machine(reading, seen))


def _ask_judge(judge: Judge, reading: ParsedText, seen: Snapshot, failures: list[Finding]) -> tuple[Evidence, ...]:
    nothing: tuple[Evidence, ...] = ()
    return run_guarded(partial(judge, reading, seen), rule_name(judge), failures, nothing)


def _refuted_causes(reading: ParsedText, seen: Snapshot, failures: list[Finding]) -> Fields:
    """Return every cause that the machine refutes."""
    answers = {c: (_ask_judge(r, reading, seen, failures) for r in refuters) for c, refuters in REFUTATIONS.items()}
    found = {cause: next(filter(None, its), ()) for cause, its in answers.items()}
    return {cause: {"verdict": "refuted", "evidence": against} for cause, against in found.items() if against}


def _proved_causes(reading: ParsedText, seen: Snapshot, failures: list[Finding]) -> Fields:
    """Return the causes that proofs without a finding prove; each needs a mechanism, as a finding does."""
    verdicts: Fields = {}
    for cause, prove in PROOFS.items():
        evidence = _ask_judge(prove, reading, seen, failures)
        linked = find_mechanism(reading, fault_facts(cause, seen, evidence)) if evidence else Mechanism()
        sure = linked.is_proved if cause not in STATE_CAUSES else bool(evidence) and was_searched(reading, seen)
        if sure or linked.is_possible or (evidence and cause in STATE_CAUSES):
            verdicts[cause] = {"verdict": "proved" if sure else "open", "evidence": evidence, "may": not sure}
    return verdicts


def _enter_finding(verdicts: Fields, finding: Finding, linked: Mechanism) -> None:
    """Add a finding: as the proof of its cause, as possibly behind the text, or as another fault of the machine."""
    old = verdicts.get(finding.cause, {})
    if linked.is_proved and not _is_superseded(old, finding):
        verdicts[finding.cause] = {"verdict": "proved", "evidence": finding.evidence, "finding": finding}
    elif linked.is_possible and old.get("verdict") != "proved" and "finding" not in old:
        verdicts[finding.cause] = {"evidence": finding.evidence, "finding": finding, "may": True}
    elif old.get("verdict") == "refuted":
        # The fault exists, although it is not behind this text: that is no refutation.
        del verdicts[finding.cause]


def _prefer_specific(verdicts: Fields) -> None:
    """Let specific causes replace general ones: a finding before a missing thing, an exact cause before its kind."""
    if any("finding" in v and v.get("verdict") == "proved" for v in verdicts.values()):
        for cause in PROOFS.keys() - EXACT_CAUSES.keys():
            if verdicts.get(cause, {}).get("verdict") == "proved" and "finding" not in verdicts[cause]:
                verdicts[cause] |= {"verdict": "open", "may": True}
    for exact, general in EXACT_CAUSES.items():
        if verdicts.get(exact, {}).get("verdict") == "proved":
            for cause in general:
                taken = verdicts.pop(cause, {}).get("finding")
                if taken is not None:
                    verdicts[exact].setdefault("finding", taken)


def was_searched(reading: ParsedText, seen: Snapshot) -> bool:
    """Whether the search of a program on this machine did not find the library that the text misses."""
    wanted = {x.name for x in reading.blamed}
    return any(r.winner is None and r.name.lower() in wanted for x in seen.loads or () for r in x.resolutions)


def machine_fault(finding: Finding, linked: Mechanism) -> MachineFault:
    """Return a fault of the machine, and how it relates to the text."""
    return MachineFault(
        finding=finding.id,
        cause=finding.cause,
        subject=finding.subject,
        title=finding.title,
        link="makes"
        if linked.is_proved
        else "may make"
        if linked.is_possible
        else "contradicted"
        if linked.by
        else "none",
        against=linked.against,
    )


def _is_superseded(old: dict[str, Any], finding: Finding) -> bool:
    """Whether a better finding for the same cause was added already."""
    had = old.get("finding")
    return (
        old.get("verdict") == "proved"
        and isinstance(had, Finding)
        and (had.primary, had.severity) >= (finding.primary, finding.severity)
    )
