"""Rows about what is found where: search paths, two copies, other versions, variables, CUDA's libraries."""

from __future__ import annotations

from tests.faultlab import bases, wheels
from tests.faultlab import plants as p
from tests.faultlab.bases import CUDA, NEW, OLD, in_home
from tests.faultlab.faults import Fault

OVERRIDE = "ld_library_path_override"
MIX = in_home("mixed")
NVRTC = "nvrtc_missing_or_mismatch"

SEARCH = (
    Fault(
        "none-installed",
        "cudnn_not_installed",
        "torch is there, cuDNN is nowhere.",
        bases.torch_9_with(),
        offer="packages",
    ),
    Fault(
        "nothing-installed",
        "cudnn_not_installed",
        "A GPU that works, an empty environment, and no cuDNN anywhere.",
        bases.empty,
    ),
    Fault(
        "only-8",
        "cudnn_major_mismatch",
        "torch asks for libcudnn.so.9; the environment has cuDNN 8.",
        bases.torch_9_with(wheels.CUDNN_8_9),
        offer="packages",
    ),
    Fault(
        "only-9",
        "cudnn_major_mismatch",
        "tensorflow asks for libcudnn.so.8; the environment has cuDNN 9.",
        bases.tensorflow_8_with(wheels.CUDNN_9_1),
        offer="packages",
    ),
    Fault(
        "not-on-path",
        "cudnn_not_on_search_path",
        "A whole cuDNN 9.10 in /usr/local that ld.so was never told of.",
        bases.system(NEW, searched=False),
        offer="variable",
    ),
    Fault(
        "stale-loader-cache",
        "cudnn_not_on_search_path",
        "ld.so.cache names a folder that is gone; the new one was never entered (no ldconfig since).",
        bases.system(NEW, searched=False),
        p.both(
            p.copied_folder("/usr/local/cudnn-9.0/lib64", (wheels.CUDNN_9_10, "*")),
            p.searched("/usr/local/cudnn-9.0/lib64"),
            p.vanished_after_ldconfig("/usr/local/cudnn-9.0"),
        ),
        notes=("cudnn.stale-loader-cache",),
        offer="variable",
    ),
    Fault(
        "older-copy-first",
        "cudnn_shadowed",
        "ld.so lists cuDNN 9.1 before the 9.10 that torch 2.8.0 was built with.",
        bases.system(OLD, NEW),
        offer="variable",
    ),
    Fault(
        "only-older-copy",
        "cudnn_minor_too_old",
        "torch 2.8.0 was built with cuDNN 9.10; the machine has 9.1 alone.",
        bases.system(OLD),
        offer="packages",
    ),
    Fault(
        "variable-names-system-copy",
        OVERRIDE,
        "torch's RPATH finds its own shim, whose RUNPATH comes after LD_LIBRARY_PATH: sub-libraries of 9.1.",
        bases.torch_9_10_beside_older,
        environment={"LD_LIBRARY_PATH": CUDA},
        offer="variable",
    ),
    Fault(
        "variable-names-mixed-folder",
        OVERRIDE,
        "A folder with files of two releases before the wheel's own.",
        bases.torch_9,
        p.copied_folder(MIX, (wheels.CUDNN_9_1, "*.so.9"), (wheels.CUDNN_9_10, "libcudnn_cnn.so.9")),
        environment={"LD_LIBRARY_PATH": MIX},
        offer="variable",
    ),
    Fault(
        "variable-names-one-file",
        OVERRIDE,
        "One forgotten sub-library of 9.10 in a folder of the user's.",
        bases.torch_9,
        p.copied_folder(MIX, (wheels.CUDNN_9_10, "libcudnn_graph.so.9")),
        environment={"LD_LIBRARY_PATH": MIX},
        offer="variable",
    ),
    Fault(
        "brackets-in-path",
        "install_path_characters",
        "cuDNN looks for its parts beside itself; [ ] in the folder's name break the search.",
        bases.named("[ml] 2026"),
        offer="system",
    ),
    Fault(
        "cuda-path-dangling",
        "cuda_path_env_wrong",
        "CUDA_PATH names a toolkit that was removed.",
        bases.torch_9_that_builds,
        environment={"CUDA_PATH": "/usr/local/cuda-11.8"},
        offer="variable",
    ),
    Fault(
        "cuda-home-dot",
        "cuda_path_env_wrong",
        "CUDA_HOME is a dot.",
        bases.torch_9_that_builds,
        environment={"CUDA_HOME": "."},
        offer="variable",
    ),
    Fault(
        "nvrtc-gone",
        NVRTC,
        "cuDNN compiles kernels at run time through libnvrtc.so.12; it was uninstalled.",
        bases.torch_9,
        p.package_removed("nvidia/cuda_nvrtc", "nvidia_cuda_nvrtc_cu12*"),
        offer="packages",
    ),
    Fault(
        "nvrtc-builtins-gone",
        NVRTC,
        "libnvrtc opens its built-ins by name; they were deleted.",
        bases.torch_9,
        p.site_file_removed("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.4"),
        offer="packages",
    ),
    Fault(
        "cublas-of-cuda-11",
        "cuda_toolkit_version_mismatch",
        "torch for CUDA 12 asks for libcublas.so.12; the environment has cuBLAS 11.",
        bases.torch_9,
        p.both(p.package_removed("nvidia/cublas", "nvidia_cublas_cu12*"), p.packages(wheels.CUBLAS_11)),
        offer="packages",
    ),
    Fault(
        "cublas-pair-of-two-releases",
        "cuda_lib_shadowed",
        "LD_LIBRARY_PATH names a folder with libcublasLt of CUDA 12.1 alone; libcublas comes from the wheel, of 12.4.",
        bases.tensorflow_8,
        p.stand_in(in_home("old"), "libcublasLt.so.12.1.3.1", "libcublasLt.so.12"),
        environment={"LD_LIBRARY_PATH": in_home("old")},
        offer="variable",
    ),
    Fault(
        "cuda-runtime-gone",
        "cuda_runtime_missing",
        "No cudart and no cuBLAS anywhere; the driver does not bring them.",
        bases.torch_9,
        p.package_removed("nvidia/cuda_runtime", "nvidia_cuda_runtime*", "nvidia/cublas", "nvidia_cublas*"),
        offer="packages",
    ),
    Fault(
        "cuda-not-on-path",
        "cuda_not_on_search_path",
        "cuDNN is found, the toolkit's libraries beside it are not.",
        bases.system(NEW, cuda_searched=False),
        offer="variable",
    ),
)
