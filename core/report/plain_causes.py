"""Each cause in one sentence for somebody who has never heard of it; the term of the field stands in the finding's title."""

from __future__ import annotations

from core.common.i18n import N_, _
from core.knowledge.causes import Cause, cause_rows

PLAIN_CAUSES: dict[Cause, str] = {
    "zlibwapi_missing": N_("A helper file that cuDNN opens is missing for {who}."),
    "cudnn_not_on_search_path": N_("cuDNN is on this computer, but {who} cannot find it."),
    "cudnn_not_installed": N_("NVIDIA's library for neural networks (cuDNN) is missing for {who}."),
    "cudnn_sublibrary_missing": N_("Some files of cuDNN are missing for {who}."),
    "cudnn_major_mismatch": N_("The cuDNN that is installed is of another generation than {who} can use."),
    "cudnn_minor_too_old": N_("The cuDNN that is installed is too old for {who}."),
    "cudnn_cuda_major_mismatch": N_("This cuDNN was made for another CUDA than that of {who}."),
    "cudnn_shadowed": N_("An older or foreign cuDNN comes before the right one for {who}."),
    "ld_library_path_override": N_("A setting (LD_LIBRARY_PATH) puts foreign libraries before those of {who}."),
    "mixed_cudnn_sublibraries": N_("Files of two cuDNN releases are mixed for {who}."),
    "cudnn_library_bug": N_("This release of cuDNN has a known bug that can stop {who}."),
    "library_unreadable": N_("You may not read a library file that is meant for {who}."),
    "cuda_not_on_search_path": N_("CUDA is on this computer, but {who} cannot find it."),
    "cuda_runtime_missing": N_("CUDA's libraries are missing for {who}."),
    "cuda_toolkit_version_mismatch": N_("The CUDA that is installed is not the one that fits {who}."),
    "cuda_lib_shadowed": N_("Libraries of two CUDA releases are mixed for {who}."),
    "cuda_path_env_wrong": N_("A setting (CUDA_PATH or CUDA_HOME) leads to a place without CUDA."),
    "nvrtc_missing_or_mismatch": N_("A part of CUDA (its compiler) is missing or does not fit {who}."),
    "nvcc_toolkit_mismatch_build": N_("The CUDA compiler that is found first does not fit {who}."),
    "libcuda_wrong_library": N_("A file that is not the GPU driver's takes its place."),
    "python_dll_search_change": N_("Python does not look for libraries where they lie for {who}."),
    "process_env_not_inherited": N_("A program still runs with old settings, and has to be started again."),
    "wrong_environment_active": N_("Another Python environment is in use than the one that you prepared."),
    "framework_cpu_only_build": N_("The variant without GPU support is installed in {who}."),
    "duplicate_framework_packages": N_("Two variants of one package overwrite each other in {who}."),
    "tf_native_windows_unsupported": N_("TensorFlow in {who} cannot use a GPU on Windows itself."),
    "upstream_packaging_bug": N_("A package in {who} was published with a fault."),
    "vc_runtime_missing": N_("A part of Windows that programs need (Visual C++) is missing or too old."),
    "dll_wrong_architecture": N_("A library for another kind of processor lies in the way of {who}."),
    "corrupt_or_truncated_file": N_("A file is damaged in {who}."),
    "install_path_characters": N_("The folder of {who} has signs in its name that break the search for libraries."),
    "page_file_too_small": N_("Windows does not have the memory that {who} must reserve."),
    "cpu_instruction_set_missing": N_("This computer's processor is too old for what is installed in {who}."),
    "driver_too_old": N_("The GPU's driver is too old for {who}."),
    "driver_library_mismatch": N_("The two halves of the GPU's driver do not belong together."),
    "driver_module_not_loaded": N_("NVIDIA's driver does not run, so no program can use the GPU."),
    "secure_boot_blocks_module": N_("Secure Boot blocks NVIDIA's driver, so no program can use the GPU."),
    "uvm_stale_after_suspend": N_("The GPU's driver did not wake up after this computer slept."),
    "device_node_permission": N_("You do not have the right to use the GPU."),
    "container_no_gpu_runtime": N_("This container was started without the GPU."),
    "wsl_libcuda_not_found": N_("Linux on Windows (WSL) does not find the GPU's driver."),
    "gpu_hidden_by_env": N_("A setting (CUDA_VISIBLE_DEVICES) hides the GPU from programs."),
    "mig_misconfigured": N_("The GPU is divided into parts (MIG), and programs get none of them."),
    "gpu_arch_too_new": N_("Your GPU is newer than what is installed in {who} knows."),
    "gpu_arch_too_old": N_("Your GPU is older than what is installed in {who} supports."),
    "gpu_memory_exhausted": N_("Other programs have taken all of the GPU's memory."),
    "nv_compute_cache_bad": N_("The driver's own store of prepared programs is damaged or locked."),
    "hardware_fault": N_("The GPU itself reports a fault."),
    "no_nvidia_gpu": N_("This computer has no NVIDIA GPU."),
    "requirement_broken": N_("Packages that do not fit together are installed in {who}."),
    "path_too_long": N_("The list of folders that Windows searches (PATH) has become too long."),
    "wrong_results": N_("The GPU computes wrong results although no program says so."),
    "gpu_busy": N_("Another program uses the GPU at the same time."),
    "cuda_compat_mismatch": N_("A driver file of another release takes the place of the right one."),
    "cuda_compat_unsupported": N_("A driver file that your GPU does not support takes the place of the right one."),
    "open_kernel_module_required": N_("Your GPU needs the open variant of NVIDIA's driver."),
    "legacy_driver_required": N_("Your GPU is too old for the driver that is installed."),
    "container_lost_devices": N_("This container or job may not use the GPU."),
}


def plain_cause(cause: Cause, who: str) -> str:
    """Return a cause in plain words; ``who`` is the short name of whom it concerns."""
    if cause in PLAIN_CAUSES:
        return _(PLAIN_CAUSES[cause], who=who)
    return next((_(row.meaning) for row in cause_rows() if row.cause == cause), "")
