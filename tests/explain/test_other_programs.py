"""Messages of programs beside the Python frameworks: media, Rust, Julia, Java, .NET, clusters, services, kernels."""

from __future__ import annotations

import pytest

from core.explain import explain
from core.explain.reading import read_text

LEADS = {
    "[av1_nvenc @ 0x1] Driver does not support the required nvenc API version. Required: 12.2 Found: 12.1": "driver_too_old",
    "Insufficient NVIDIA driver version, Required 551.23, Installed 546.17\nFailed to initialize CUDA.": "driver_too_old",
    "Failed to load CUDA kernel from '4.2/scripts/addons/cycles/lib/kernel_compute_75.ptx' (Unsupported PTX version)": "driver_too_old",
    "* Device #1: Outdated NVIDIA CUDA driver version '8000' detected!": "driver_too_old",
    "OS: linux\n[h264_cuvid @ 0x1] Cannot load libnvcuvid.so.1\n[h264_cuvid @ 0x1] Failed loading nvcuvid.": "driver_component_missing",
    "OS: container\n[h264_nvenc @ 0x1] Cannot load libnvidia-encode.so.1": "driver_component_missing",
    "[h264_nvenc @ 0x1] OpenEncodeSessionEx failed: out of memory (10): (no details)": "program_error",
    "modprobe: ERROR: could not insert 'nvidia': Exec format error": "driver_module_not_loaded",
    "modprobe: ERROR: could not insert 'nvidia_uvm': Invalid argument": "driver_module_not_loaded",
    "Kokkos::Cuda::initialize ERROR: running kernels compiled for compute capability 9.0 on device with compute capability 7.0, "
    "likely mismatch of architecture.": "gpu_arch_too_old",
    '/usr/include/cuda_toolkit.h:41:4: error: #error "CUDA compiler and CUDA toolkit headers are incompatible"': "nvcc_toolkit_mismatch_build",
    "Failed to get device capability: SM 12.x requires CUDA >= 12.9.": "compiler_lacks_gpu_arch",
    "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.": "container_no_gpu_runtime",
    "INFO:    Could not find any nv files on this host!": "container_no_gpu_runtime",
    "docker run -p 8080:80 ghcr.io/some/server:1 --model m\nno GPU found": "container_no_gpu_runtime",
    "hashcat (v6.2.6) starting\n\ncuInit(): 100": "gpu_hidden_by_env",
    "hashcat (v6.2.6) starting\n\ncuDriverGetVersion(): 34": "libcuda_wrong_library",
    "The whisper.service says no CUDA-capable device is detected; run from a shell it works.": "service_confined",
    "dxcore.c:211] Core Nvidia component libcuda.so.1.1 not found in /usr/lib/wsl/drivers/u0.inf": "no_nvidia_gpu",
    "load_backend: CPU does not have minimum vector extensions, GPU inference disabled": "cpu_instruction_set_missing",
    "warning: llama.cpp was compiled without support for GPU offload. Setting the split mode has no effect.": "framework_cpu_only_build",
    "./app: error while loading shared libraries: libcublas.so.12: cannot open shared object file\n"
    "libcublas.so.12 is located in /usr/local/cuda-12.4/lib64": "cuda_not_on_search_path",
}

AMONG_THREE = {
    'Unable to dynamically load the "cudnn" shared library - searched for library names: ["libcudnn.so", "libcudnn64.so"]': "cudnn_not_installed",
    'Unable to dynamically load the "cuda" shared library - searched for library names: ["libcuda.so", "libcuda64.so"]': "driver_module_not_loaded",
    'Unable to dynamically load the "curand" shared library - searched for library names: ["curand", "curand64"]': "cuda_runtime_missing",
    "java.lang.UnsatisfiedLinkError: no jnicudart in java.library.path": "cuda_runtime_missing",
    "System.TypeInitializationException: The type initializer for 'LLama.Native.NativeApi' threw an exception. LLamaSharp.Backend.Cuda12": "cuda_runtime_missing",
    "CUDA error 805: MPS client failed to connect to the MPS control daemon or the MPS server": "driver_broken_by_env",
    "Skipped [JCublasBackend] backend (unavailable): java.lang.UnsatisfiedLinkError": "cuda_not_on_search_path",
}


@pytest.mark.parametrize("text", LEADS)
def test_the_cause_leads(text: str) -> None:
    assert explain(text).causes[0].cause == LEADS[text]


@pytest.mark.parametrize("text", AMONG_THREE)
def test_the_cause_is_among_the_first_three_and_none_is_near_to_certain(text: str) -> None:
    causes = explain(text).causes
    assert AMONG_THREE[text] in [r.cause for r in causes[:3]]
    assert causes[0].score <= 0.8


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cudaSetDevice err: 999", "cudaerrorunknown"),
        ("cuDeviceGetCount(): 100", "cudaerrornodevice"),
        ("cudaGetDeviceProperties returned 802", "cudaerrorsystemnotready"),
        ("cuInit(0) failed with error 3", "cudaerrorinitializationerror"),
    ],
)
def test_a_number_behind_a_function_is_its_status(text: str, name: str) -> None:
    assert name in read_text(text).low


@pytest.mark.parametrize("text", ["cudart64_110.dll", "CUDA memory: 100 MiB", "cudaMemcpy copied 35.2 GB", "cuda 12.8"])
def test_other_numbers_are_no_status(text: str) -> None:
    assert "cudaerror" not in read_text(text).low


@pytest.mark.parametrize("maker", ["cuda: llamafile/cuda.sh (for NVIDIA)\ncuda: llamafile/rocm.sh (for AMD)"])
def test_two_makers_in_one_hint_are_not_another_maker(maker: str) -> None:
    found = explain(f"cuda: no pre-built GPU library found\ncuda: to enable GPU support, build with:\n{maker}")
    assert found.causes[0].cause == "framework_cpu_only_build"
