"""What mingw builds: stand-ins with real import tables, small programs, and older releases of real DLLs. Read on both sides."""

from __future__ import annotations

Imports = dict[str, tuple[str, ...]]
"""DLL -> functions; none named: a few that it exports."""

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
        "cudart64_12.dll": (), "cublas64_12.dll": (), "cublasLt64_12.dll": (), "cudnn64_9.dll": (), "cufft64_11.dll": (),
        "curand64_10.dll": (), "cusolver64_11.dll": (), "cusparse64_12.dll": (),
    },
    "torch_delayed.dll": {"nvrtc64_120_0.dll": ()},
    **PROGRAMS,
}  # fmt: skip
"""torch_cuda.dll: the libraries that PyTorch's build for CUDA 12 links on Windows; its functions stand for its own."""

OLDER = {
    "cublas64_12.dll": ("cublasCreate_v2", "cublasSgemm_v2", "cublasLtMatmul"),
    "cublasLt64_12.dll": ("cublasLtMatmul", "cublasLtCreate"),
    "cudart64_12.dll": ("cudaGetDeviceProperties_v2", "cudaMallocAsync"),
    "cufft64_11.dll": ("cufftXtMakePlanMany", "cufftMakePlanMany", "cufftCreate"),
}
"""DLL -> functions that the stand-in for an older release lacks."""
