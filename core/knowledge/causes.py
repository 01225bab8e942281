"""The vocabulary of causes: one row each in resources/knowledge/causes.json, and a type that restricts every table to it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Literal

from core.knowledge.tables import read_table
from core.model.facts import Frozen
from core.model.steps import Step

Cause = Literal[
    "zlibwapi_missing",
    "cudnn_not_on_search_path",
    "cudnn_not_installed",
    "cudnn_sublibrary_missing",
    "cudnn_major_mismatch",
    "cudnn_minor_too_old",
    "cudnn_cuda_major_mismatch",
    "cudnn_shadowed",
    "ld_library_path_override",
    "mixed_cudnn_sublibraries",
    "cudnn_library_bug",
    "library_unreadable",
    "cuda_not_on_search_path",
    "cuda_runtime_missing",
    "cuda_toolkit_version_mismatch",
    "cuda_lib_shadowed",
    "cuda_path_env_wrong",
    "nvrtc_missing_or_mismatch",
    "nvcc_toolkit_mismatch_build",
    "libcuda_wrong_library",
    "python_dll_search_change",
    "process_env_not_inherited",
    "wrong_environment_active",
    "framework_cpu_only_build",
    "duplicate_framework_packages",
    "tf_native_windows_unsupported",
    "upstream_packaging_bug",
    "vc_runtime_missing",
    "dll_wrong_architecture",
    "corrupt_or_truncated_file",
    "install_path_characters",
    "page_file_too_small",
    "cpu_instruction_set_missing",
    "driver_too_old",
    "driver_library_mismatch",
    "driver_module_not_loaded",
    "secure_boot_blocks_module",
    "uvm_stale_after_suspend",
    "device_node_permission",
    "container_no_gpu_runtime",
    "wsl_libcuda_not_found",
    "gpu_hidden_by_env",
    "mig_misconfigured",
    "gpu_arch_too_new",
    "gpu_arch_too_old",
    "gpu_memory_exhausted",
    "nv_compute_cache_bad",
    "hardware_fault",
    "no_nvidia_gpu",
    "requirement_broken",
    "path_too_long",
    "wrong_results",
    "gpu_busy",
    "cuda_compat_mismatch",
    "cuda_compat_unsupported",
    "open_kernel_module_required",
    "legacy_driver_required",
    "container_lost_devices",
    "driver_component_missing",
    "device_node_wrong",
    "driver_broken_by_env",
    "noexec_mount",
    "module_shadowed",
    "python_environment_broken",
    "package_for_another_python",
    "installation_interrupted",
    "variable_value_wrong",
    "extension_abi_mismatch",
    "numpy_abi_mismatch",
    "cxx_runtime_too_old",
    "host_compiler_unsupported",
    "compiler_lacks_gpu_arch",
    "build_tools_missing",
    "linker_lacks_libcuda",
    "libdevice_not_found",
    "fabric_manager_not_running",
    "pci_memory_unassigned",
    "container_cdi_unresolved",
    "shared_memory_too_small",
    "nccl_failed",
    "other_maker_gpu",
    "jetson_build_required",
    "program_error",
    "training_numerics",
    "harmless_message",
    "system_library_missing",
    "address_space_limited",
    "service_confined",
]
"""Written by ``python3 dev.py causes`` from the rows; do not edit. A misspelt cause fails the type check."""

OptionalCause = Cause | Literal[""]
"""Empty for a finding that names no fault."""


class CauseRow(Frozen, frozen=True, kw_only=True):
    """A row of causes.json. Its position in the file is its number in session codes, so new rows go to the end."""

    cause: Cause
    step: Step
    rank: int | None
    """Rank among root causes, from root to leaf; None for a cause that is no fault, and so is never the root cause.

    100: without a driver that starts, nothing else can be seen to work. 200: what was installed cannot use a GPU, or does
    not start at all. 300: a variable or a search order decides which files are used at all. 400: what is wrong with the
    files that are used. 500: what they need of CUDA. 600: what only some programs, or only this GPU, suffer from.
    """
    meaning: str
    """One plain sentence."""


UNKNOWN_CAUSE_RANK = 1000
"""Rank of a cause that this version does not know."""


def cause_rows() -> tuple[CauseRow, ...]:
    """Return the vocabulary, in the order that numbers it."""
    return read_table("causes", tuple[CauseRow, ...])


@functools.cache
def cause_ranks() -> Mapping[str, int | None]:
    """Return the rank of each cause."""
    return {row.cause: row.rank for row in cause_rows()}


@functools.cache
def _homes() -> Mapping[str, Step]:
    return {row.cause: row.step for row in cause_rows()}


def home_step(cause: str) -> Step | None:
    """Return the step to which a cause belongs; None if it has none, or is not in the vocabulary."""
    return _homes().get(cause)
