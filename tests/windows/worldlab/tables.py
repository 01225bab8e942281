"""What mingw builds: stand-ins with real import tables, small programs, and older releases of real DLLs. Read on both sides."""

from __future__ import annotations

from pathlib import Path

Imports = dict[str, tuple[str, ...]]
"""DLL -> functions; none named: a few that it exports. Of functions with a star those that it exports."""

TORCHS = ("*", *Path(__file__).with_name("torch_functions.txt").read_text(encoding="utf-8").split())
"""CUDA's functions that PyTorch 2.6.0 for CUDA 12.4 imports, read in Linux's libtorch_cuda.so, libtorch_cuda_linalg.so
and libcaffe2_nvrtc.so.
Windows' torch_cuda.dll is published outside the package index and was not read: it is linked from the same sources."""

PROGRAMS: dict[str, Imports] = {
    "blas.exe": {"cublas64_12.dll": ()},
    "light.exe": {"cublasLt64_12.dll": ()},
    "network.exe": {"cudnn64_9.dll": (), "cudart64_12.dll": ()},
    "waves.exe": {"cufft64_11.dll": (), "cudart64_12.dll": ()},
    "dice.exe": {"curand64_10.dll": ()},
    "solve.exe": {"cusolver64_11.dll": ()},
    "sparse.exe": {"cusparse64_12.dll": (), "cudart64_12.dll": ()},
    "compile.exe": {"nvrtc64_120_0.dll": ()},
    "link.exe": {"nvJitLink_120_0.dll": ()},
    "engine.exe": {"cublas64_12.dll": (), "cufft64_11.dll": (), "curand64_10.dll": ()},
}
"""Ten programs that are not Python, and what their import tables name."""

CONSUMERS: dict[str, Imports] = {
    "torch_cuda.dll": {
        "cudart64_12.dll": TORCHS, "cublas64_12.dll": TORCHS, "cublasLt64_12.dll": TORCHS, "cudnn64_9.dll": TORCHS,
        "cufft64_11.dll": TORCHS, "curand64_10.dll": TORCHS, "cusolver64_11.dll": TORCHS, "cusparse64_12.dll": TORCHS,
    },
    "ggml-cuda.dll": {"cublas64_12.dll": (), "cudart64_12.dll": ()},
    "caffe2_nvrtc.dll": {"nvrtc64_120_0.dll": TORCHS},
    **PROGRAMS,
}  # fmt: skip
"""torch_cuda.dll names the libraries that Linux's build of it names, but for NCCL and cuSPARSELt. NVRTC is asked for by caffe2_nvrtc.dll."""

MODULES: dict[str, Imports] = {
    "plain": {},
    "runtime": {"msvcp140_2.dll": ("__std_smf_beta",)},
    "older_runtime": {"msvcp140_1.dll": ("not_in_older_ones",)},
    "openmp": {"libomp140.x86_64.dll": ("omp",)},
    "media": {"mfplat.dll": ("MFStartup",)},
    "other_python": {"python310.dll": ("Py_IsInitialized",)},
    "of_cuda": {"cublas64_12.dll": ("cublasCreate_v2",), "cudart64_12.dll": ("cudaGetDeviceCount",)},
    "of_torch": {"torch_cuda.dll": ("uses",), "cudart64_12.dll": ("cudaGetDeviceCount",)},
    "of_another_torch": {"torch_cuda.dll": ("another",)},
    "of_rocm_or_cpu": {"c10_cuda.dll": ("uses",), "torch_cuda.dll": ("uses",)},
    "with_libs": {"inner-0f3a.dll": ("inner",)},
    "of_ffmpeg": {"avcodec-61.dll": ("avcodec",)},
    "stable_abi": {"python3.dll": ("Py_IsInitialized",)},
}
"""Extension modules that CPython really imports, and what their import tables name."""

INNER: dict[str, Imports] = {"inner-0f3a.dll": {}, "avcodec-61.dll": {}, "avcodec-62.dll": {}}
"""DLLs that packages bring for their modules, or that are FFmpeg's: each exports the first part of its name."""

OPENERS = {"llama.exe": r"ggml-cuda.dll", "ollama.exe": r"lib\ollama\cuda_v12\ggml-cuda.dll"}
"""Programs that open a DLL of their own by its path, with an altered search path."""

OF_CUDA_11 = {"eleven.exe": {"cudart64_110.dll": ("cudaGetDeviceCount",)}}
"""A program for CUDA 11, whose DLL is nowhere."""

OLDER = {
    "cublas64_12.dll": ("cublasCreate_v2", "cublasSgemm_v2", "cublasLtMatmul"),
    "cublasLt64_12.dll": ("cublasLtMatmul", "cublasLtCreate"),
    "cudart64_12.dll": ("cudaGetDeviceProperties_v2", "cudaMallocAsync"),
    "cufft64_11.dll": ("cufftXtMakePlanMany", "cufftMakePlanMany", "cufftCreate"),
}
"""DLL -> functions that the stand-in for an older release lacks."""
