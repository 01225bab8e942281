"""Prove or refute causes on a Snapshot: findings of the rules prove; small pure functions prove or refute the rest.

To add one: write a function ``(reading, seen) -> evidence`` and name it under its cause in PROOFS or REFUTATIONS. It
returns what was seen, and nothing where the evidence does not decide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from core.causes import Cause
from core.diagnose import diagnose
from core.explain import proofs, refutations
from core.explain.reading import Reading
from core.facts import Snapshot
from core.findings import Evidence, Finding
from core.guard import guarded, name_of
from core.steps import Severity

Judge = Callable[[Reading, Snapshot], tuple[Evidence, ...]]

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
    "container_no_gpu_runtime": proofs.container_without_driver,
}
REFUTATIONS: dict[Cause, tuple[Judge, ...]] = {
    "zlibwapi_missing": (refutations.not_on_linux, refutations.zlib_inside, refutations.zlibwapi_found),
    "cudnn_not_on_search_path": (refutations.cudnn_found,),
    "cudnn_not_installed": (refutations.cudnn_there,),
    "cudnn_sublibrary_missing": (refutations.sets_whole,),
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
}


EXACT: dict[Cause, tuple[Cause, ...]] = {
    "python_dll_search_change": ("cudnn_not_on_search_path", "cuda_not_on_search_path"),
    "process_env_not_inherited": ("cudnn_not_on_search_path", "cuda_not_on_search_path"),
}
"""A proved cause that says more exactly why: it takes over the finding of the more general one."""


def judge(reading: Reading, seen: Snapshot | None, failures: list[Finding]) -> dict[str, dict[str, Any]]:
    """Return for each cause that the machine decides: its verdict, the evidence, and the finding that proves it.

    A judge that fails adds a finding to ``failures`` and decides nothing.
    """
    if seen is None:
        return {}
    verdicts: dict[str, dict[str, Any]] = {}
    nothing: tuple[Evidence, ...] = ()
    for cause, refuters in REFUTATIONS.items():
        for refute in refuters:
            against = guarded(partial(refute, reading, seen), name_of(refute), failures, nothing)
            if against:
                verdicts[cause] = {"verdict": "refuted", "evidence": against}
                break
    for cause, prove in PROOFS.items():
        if evidence := guarded(partial(prove, reading, seen), name_of(prove), failures, nothing):
            verdicts[cause] = {"verdict": "proved", "evidence": evidence}
    for finding in reversed(diagnose(seen)):
        # the worst comes last and stays; a primary stands first in the report
        if (
            finding.cause
            and (finding.severity >= Severity.WARNING or finding.primary)
            and not _superseded(verdicts, finding)
        ):
            verdicts[finding.cause] = {"verdict": "proved", "evidence": finding.evidence, "finding": finding}
    for exact, general in EXACT.items():
        if verdicts.get(exact, {}).get("verdict") == "proved":
            for cause in general:
                taken = verdicts.pop(cause, {}).get("finding")
                if taken is not None:
                    verdicts[exact].setdefault("finding", taken)
    return verdicts


def _superseded(verdicts: dict[str, dict[str, Any]], finding: Finding) -> bool:
    """Whether a better finding of the same cause is already there."""
    old = verdicts.get(finding.cause, {}).get("finding")
    return isinstance(old, Finding) and (old.primary, old.severity) > (finding.primary, finding.severity)
