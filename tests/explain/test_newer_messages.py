"""Messages of 2024 to 2026 that a reader would meet: what they are taken for, and what they are not taken for."""

from __future__ import annotations

import pytest

from core.explain import explain, render_text
from core.explain.reading import read_text
from core.explain.render import MIN_ADVISED_SCORE

LISTED = (
    "The current PyTorch install supports CUDA capabilities {}\nis not compatible with the current PyTorch installation"
)
TAKEN_FOR = {
    # as PyTorch, Triton, JAX and Transformers write them
    "RuntimeError: The current installed version of g++ (14.2) is greater than the maximum required version by CUDA 12.4.": (
        "host_compiler_unsupported",
        "",
    ),
    "torch._inductor\nRuntimeError: Compiler: cl is not found.": ("build_tools_missing", ""),
    "ValueError: TRITON_OVERRIDE_ARCH must have the form sm\\d+": ("variable_value_wrong", ""),
    "ValueError: You have a version of `bitsandbytes` that is not compatible with 4bit inference and training": (
        "requirement_broken",
        "",
    ),
    # an option that passes the GPU is no failure; the engine's daemon is no service; a lost device comes back with the container
    "docker run --gpus all image\nImportError: libjpeg.so.62: file too short": ("corrupt_or_truncated_file", ""),
    "Error response from daemon: failed to parse CDI Spec /etc/cdi/nvidia.yaml": ("container_cdi_unresolved", ""),
    "Docker: the GPU works, then the model runs on the CPU; restarting the container fixes it": (
        "container_lost_devices",
        "",
    ),
    # error 127: the file was found, and does not fit
    'Windows\nOSError: [WinError 127] The specified procedure could not be found. Error loading "cudnn_cnn64_9.dll"': (
        "mixed_cudnn_sublibraries",
        "",
    ),
    "Windows, CUDA 11.8\nCould not locate cudnn64_7.dll": ("cudnn_major_mismatch", ""),
    "Two cards: Quadro P4000 fails, RTX A4000 works\nno kernel image is available for execution on the device": (
        "gpu_arch_too_old",
        "",
    ),
    # versions that do not go together, whatever the message is
    "Windows\nTensorFlow 2.3, CUDA 11.2, GTX 1660\nlist_physical_devices('GPU') gives []": (
        "cuda_toolkit_version_mismatch",
        "",
    ),
    "RTX 5070 Ti, torch 2.5.1+cu121\ncuDNN error: CUDNN_STATUS_EXECUTION_FAILED": ("gpu_arch_too_new", ""),
    "CUDA 13.0 is installed\nRuntimeError: Library libcublas.so.12 is not found or cannot be loaded": (
        "cuda_toolkit_version_mismatch",
        "cuda_runtime_missing",
    ),
    # a word of the message says which side is too old or too new
    "RTX 5080\n`cutlassF` is not supported because:\n requires device with capability <= (9, 0) but your GPU has capability (12, 0) (too new)": (
        "gpu_arch_too_new",
        "gpu_arch_too_old",
    ),
    "ImportError: /opt/env/lib/python3.12/site-packages/deep_ep_cpp.so: undefined symbol: cuMulticastCreate": (
        "driver_too_old",
        "cuda_lib_shadowed",
    ),
    "TypeError: C function rmm._lib.lib.allocate has wrong signature (expected int (void **), got int (void *))": (
        "extension_abi_mismatch",
        "",
    ),
    'Windows\nOSError: [WinError 126] The specified module could not be found. Error loading "D:\\app\\torch\\lib\\torch_python.dll" or one of its dependencies.': (
        "package_for_another_python",
        "python_dll_search_change",
    ),
    "ImportError: libmkl_core.so: unexpected reloc type 0x03": ("corrupt_or_truncated_file", ""),
    "RuntimeError: Unrecognized key 'expandable' in CUDA allocator config": ("variable_value_wrong", ""),
    # the program's own code, not the setup
    "ValueError: invalid literal for int() with base 10: 'GPU-0a1b2c3d-1111-2222-3333-444455556666'": (
        "program_error",
        "mig_misconfigured",
    ),
    'csrc/gather.cu(41): error: namespace "cub" has no member "Max"\n1 error detected in the compilation of "csrc/gather.cu".': (
        "program_error",
        "host_compiler_unsupported",
    ),
    # where it was started, what ran before it, and which release works
    "I put CUDA_HOME into ~/.bashrc, but the systemd service does not have it": (
        "process_env_not_inherited",
        "service_confined",
    ),
    "CUDA programs find no GPU after boot; if root runs nvidia-smi it is found from then on": ("device_node_wrong", ""),
    "Since 1.9.0 every model crashes; going back to 1.8.2 works": ("upstream_packaging_bug", ""),
    "RTX 4070, pip list: torch 2.6.0+rocm6.2.4\ntorch.cuda.is_available() False": ("framework_cpu_only_build", ""),
    "GTX 1060 not recognized after the update to nvidia 595.45": ("legacy_driver_required", ""),
    # what refuses, what changed, and whether it matters
    'audit: type=1400 apparmor="DENIED" operation="open" profile="snap.blender" name="/dev/nvidiactl"\nno CUDA device': (
        "service_confined",
        "",
    ),
    "Docker host: after apt upgrade of the nvidia driver no container uses the GPU any more, nvidia-smi works on the host": (
        "container_no_gpu_runtime",
        "secure_boot_blocks_module",
    ),
    # what a person says beside the message: the account, the card, the Python, the system
    "RuntimeError: No CUDA GPUs are available\nvenv/bin/python -c 'import torch; print(torch.cuda.is_available())'\nFalse\nsudo venv/bin/python -c 'import torch; print(torch.cuda.is_available())'\nTrue\nLinux": (
        "device_node_permission",
        "",
    ),
    "linux\nCUDA_ERROR_NO_DEVICE on every partitioned H100 card; a whole one works": ("mig_misconfigured", ""),
    "Windows\nERROR: No matching distribution found for tensorflow-gpu==2.12": ("tf_native_windows_unsupported", ""),
    "Windows\nAssertionError: Torch not compiled with XPU enabled": ("framework_cpu_only_build", ""),
    "I ran python in the clone of PyTorch\nModuleNotFoundError: No module named 'torch._C'": ("module_shadowed", ""),
    "Windows\nAssertionError: Torch not compiled with CUDA enabled\nIntel(R) Iris(R) Xe Graphics": (
        "other_maker_gpu",
        "",
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: '/opt/cuda:/usr/local/cuda-12.4/bin/nvcc'": (
        "cuda_path_env_wrong",
        "",
    ),
    "D:\\ai\\python_embeded>pip install triton-windows\nRequirement already satisfied: triton-windows in c:\\python311\\lib\\site-packages\nCannot find a working triton installation.": (
        "wrong_environment_active",
        "",
    ),
    "docker\nError 803: system has unsupported display driver / cuda driver combination": ("cuda_compat_mismatch", ""),
    "docker\nFailed to initialize NVML: Driver/library version mismatch": ("driver_library_mismatch", ""),
    "Available providers: ['CPUExecutionProvider']\nonnxruntime-gpu 1.22.0": ("duplicate_framework_packages", ""),
    "Windows, ONNX Runtime 1.20\nLoadLibrary failed with error 126: onnxruntime_providers_cuda.dll\nCUDA 12.4, cuDNN 8.9.7": (
        "cudnn_major_mismatch",
        "",
    ),
    "LibMambaUnsatisfiableError: pytorch 2.1.0 cuda118 and python 3.13 cannot be installed together": (
        "requirement_broken",
        "",
    ),
    "/usr/bin/ld: cannot find -lcublas: No such file or directory": ("cuda_not_on_search_path", ""),
    LISTED.format("sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"): ("gpu_arch_too_new", ""),
    LISTED.format("sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"): ("gpu_arch_too_old", ""),
    "sglang, Tesla T4: flashinfer: KeyError: 'sm_75'": ("gpu_arch_too_old", "gpu_arch_too_new"),
    "RTX 5090, CUDA 12.8\nRuntimeError: FlashInfer requires GPUs with sm75 or higher": (
        "compiler_lacks_gpu_arch",
        "gpu_arch_too_old",
    ),
    "jax: Outdated cuBLAS installation found.\nVersion JAX was built against: 120304": ("ld_library_path_override", ""),
    "docker, DeepSpeed: exits with return code = -7": ("shared_memory_too_small", ""),
    "tensors that are copied between GPUs by P2P are zeroed; AMD-Vi: IO_PAGE_FAULT in dmesg": ("nccl_failed", ""),
    "hashcat: /root/OpenCL/shared.cl build failed\nclCompileProgram(): CL_OUT_OF_RESOURCES": (
        "driver_too_old",
        "hardware_fault",
    ),
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.1": (
        "driver_too_old",
        "device_node_permission",
    ),
    "This program was not compiled for SM 89 : cudaErrorInvalidDevice: invalid device ordinal": (
        "gpu_arch_too_new",
        "",
    ),
    "docker, jellyfin: OpenEncodeSessionEx failed: unsupported device (2): (no details)": (
        "driver_component_missing",
        "hardware_fault",
    ),
    "ldconfig: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link": ("harmless_message", "linker_lacks_libcuda"),
    "import spconv_cuda\nImportError: libcudart.so.11.0: cannot open shared object file": (
        "extension_abi_mismatch",
        "cuda_not_on_search_path",
    ),
    "Could not find conda environment: train": ("wrong_environment_active", ""),
    "Cannot find a working triton installation.\nRuntimeError: Your device is too old. We require compute capability >= 50": (
        "gpu_arch_too_old",
        "",
    ),
    "common/util/cudnn.h:17:10: fatal error: cudnn_frontend.h: No such file or directory": (
        "build_tools_missing",
        "cudnn_library_bug",
    ),
    "libcuda.so.418.74: undefined symbol: cuCtxCreate_v3": ("driver_too_old", ""),
    "numba.cuda.cudadrv.driver.CudaAPIError: [34]": ("libcuda_wrong_library", ""),
    "ComfyUI, GTX 1660 Ti: every output image is completely black": ("training_numerics", "program_error"),
    "llama.cpp, two GPUs: the model answers !!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!": ("wrong_results", "gpu_arch_too_new"),
    'Fatal error in launcher: Unable to create process using \'"D:\\ai\\python.exe"  "E:\\ai\\Scripts\\pip.exe" install torch\'': (
        "python_environment_broken",
        "wrong_environment_active",
    ),
    "RuntimeError: cutlassF: no kernel found to launch!": ("gpu_arch_too_old", "cudnn_library_bug"),
    "RuntimeError: Triton Error [CUDA]: device kernel image is invalid": ("driver_too_old", "program_error"),
    "fatal error C1083: Cannot open include file: 'cudnn.h': No such file or directory": ("build_tools_missing", ""),
    'CMake Error: Could not find CUDA: Found unsuitable version "11.2", but required is at least "12.0"': (
        "cuda_path_env_wrong",
        "cuda_runtime_missing",
    ),
    'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":838': (
        "gpu_memory_exhausted",
        "program_error",
    ),
    'nvidia-smi : Die Benennung "nvidia-smi" wurde nicht als Name eines Cmdlet, einer Funktion erkannt.': (
        "driver_module_not_loaded",
        "gpu_busy",
    ),
    "RuntimeError: CUDA error: an illegal instruction was encountered": (
        "program_error",
        "cpu_instruction_set_missing",
    ),
    "WARNING: CUDA Not available.\nIf you get a c10.dll error, install VC Redist: https://aka.ms/vc14/vc_redist.x64.exe": (
        "framework_cpu_only_build",
        "vc_runtime_missing",
    ),
    "llama_model_load: error loading model: unable to allocate CUDA0 buffer": ("gpu_memory_exhausted", ""),
    "RuntimeError: CUDA driver error: file not found": ("install_path_characters", ""),
    "ERROR: No matching distribution found for torch": ("package_for_another_python", "installation_interrupted"),
    "RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)": ("gpu_arch_too_new", ""),
    "[rank0]:[W ProcessGroupNCCL.cpp:1538] Warning: destroy_process_group() was not called before program exit": (
        "harmless_message",
        "nccl_failed",
    ),
    "ptxas fatal   : Unresolved extern function '__nv_expf'": ("libdevice_not_found", ""),
    "RuntimeError: address already in use\ntorch.distributed.DistNetworkError: EADDRINUSE": ("program_error", ""),
    "ValueError: FP8 is only supported on GPUs with compute capability >= 8.9": (
        "gpu_arch_too_old",
        "training_numerics",
    ),
    "CUDA error: the launch timed out and was terminated": ("program_error", ""),
    "bin E:\\envs\\ai\\lib\\site-packages\\bitsandbytes\\libbitsandbytes_cpu.so\nlibcudart.so not found in any path\n"
    "CUDA Setup failed despite GPU being available": ("extension_abi_mismatch", "cuda_not_on_search_path"),
    "ImportError: libnuma.so.1: cannot open shared object file\n[sgl_kernel] CRITICAL: Could not load any common_ops library!": (
        "system_library_missing",
        "extension_abi_mismatch",
    ),
    "ERROR: No matching distribution found for torch==2.6.0+cu121": ("package_for_another_python", "program_error"),
    "ptxas /tmp/x.ptx, line 5; fatal   : Unsupported .version 8.4; current version is '8.2'": (
        "nvcc_toolkit_mismatch_build",
        "gpu_arch_too_new",
    ),
    # NVIDIA's Container Toolkit 1.17.0 took an unset NVIDIA_IMEX_CHANNELS of older images for "all"
    "nvidia-container-cli: error parsing IMEX info: unsupported IMEX channel value: all: unknown": (
        "upstream_packaging_bug",
        "driver_module_not_loaded",
    ),
}

SEVERAL = {
    # one message, several causes: none of them is near to certain, each is named
    "nvidia-container-cli: initialization error: WSL environment detected but no adapters were found": (
        "no_nvidia_gpu",
        "container_no_gpu_runtime",
        "driver_too_old",
    ),
    "OS: container\nNCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)": (
        "nccl_failed",
        "shared_memory_too_small",
    ),
    "ERROR: Cannot install torch==2.4.0+cu124 because these package versions have conflicting dependencies.\nERROR: ResolutionImpossible": (
        "requirement_broken",
        "upstream_packaging_bug",
    ),
    "Could not load library libcublasLt.so.12. Error: libcublasLt.so.12: cannot open shared object file": (
        "cudnn_cuda_major_mismatch",
        "cuda_not_on_search_path",
    ),
    # a list of GPUs that is empty, or shorter than the program expects
    "gpus = tf.config.list_physical_devices('GPU')\n"
    "tf.config.experimental.set_virtual_device_configuration(gpus[0],\nIndexError: list index out of range": (
        "framework_cpu_only_build",
        "program_error",
    ),
    "    tf.config.experimental.set_memory_growth(physical_devices[0], True)\nIndexError: list index out of range": (
        "framework_cpu_only_build",
        "program_error",
    ),
    "  selected_gpus = [available_gpus[i] for i in gpu_ids]\nIndexError: list index out of range": (
        "framework_cpu_only_build",
        "program_error",
    ),
    "CUDA backend failed to initialize: Unable to load cuDNN. Is it installed?": (
        "cudnn_not_installed",
        "cudnn_major_mismatch",
        "cudnn_not_on_search_path",
    ),
}


@pytest.mark.parametrize("text", SEVERAL)
def test_one_message_of_several_causes_names_them_and_is_sure_of_none(text: str) -> None:
    told = explain(text)
    assert {r.cause for r in told.causes[: len(SEVERAL[text]) + 1]} >= {*SEVERAL[text]}
    assert told.causes[0].score < 0.8


@pytest.mark.parametrize("text", TAKEN_FOR)
def test_what_a_message_is_taken_for(text: str) -> None:
    first, wrong = TAKEN_FOR[text]
    told = explain(text)
    assert told.says.meaning
    assert told.causes[0].cause == first
    assert wrong not in {r.cause for r in told.causes if r.score > told.causes[0].score / 2}


def test_memory_that_fails_when_cuda_starts_is_no_sure_sign_of_a_full_gpu() -> None:
    told = explain(
        "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 2: out of memory"
    )
    assert told.causes[0].score < 0.5
    assert explain("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB").causes[0].score > 0.8


def test_a_sentence_that_names_a_library_is_no_name() -> None:
    told = explain("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.")
    assert told.causes
    assert "NVIDIA-SMI couldn't find" not in told.sentence


def test_the_same_words_are_explained_once() -> None:
    told = explain("AssertionError: Torch not compiled with CUDA enabled")
    terms = [c.term for c in told.codes]
    assert len(terms) == 1


def test_steps_of_an_unlikely_second_cause_are_left_out() -> None:
    said = render_text(explain("ImportError: numpy.core.multiarray failed to import"))
    assert said.count("If this is the cause") == 1


def test_a_cause_that_is_hardly_likely_gets_no_steps() -> None:
    bare = explain("cuda driver library failed to get device context 2000")
    assert bare.causes[0].score < MIN_ADVISED_SCORE
    assert bare.causes[0].steps
    assert "If this is the cause" not in render_text(bare)


def test_a_library_is_named_as_the_text_writes_it() -> None:
    said = explain("libcublasLt.so.12: cannot open shared object file: No such file or directory").says
    assert "libcublasLt.so.12" in said.meaning
    assert "libcublasLt.so.12" in [x.name for x in said.names]


def test_only_a_name_without_a_number_is_one_that_wsl_does_not_list() -> None:
    assert "missing:libcuda-unversioned" in read_text("libcuda.so: cannot open shared object file").marks
    assert "missing:libcuda-unversioned" not in read_text("Unable to load /usr/lib/libcuda.so.550.120").marks


def test_a_refused_context_is_a_container_that_lost_its_devices() -> None:
    text = (
        "cuda driver library failed to get device context 800time=2025-07-11T07:00:00.476Z level=WARN source=gpu.go:434"
    )
    assert explain(text).causes[0].cause == "container_lost_devices"


def test_the_number_behind_unknown_error_is_the_error() -> None:
    text = "CUDA error: Failed call to cuInit: UNKNOWN ERROR ({})"
    assert explain(text.format(999)).causes[0].cause == "uvm_stale_after_suspend"
    assert "cuda-unknown" not in read_text(text.format(303)).marks


def test_an_index_into_another_list_is_the_program_s_own() -> None:
    told = explain("    labels = names[0]\nIndexError: list index out of range\nRuntimeError: CUDA error")
    assert told.causes[0].cause == "program_error"
    assert all(r.score < 0.1 for r in told.causes if r.cause == "framework_cpu_only_build")


@pytest.mark.parametrize(
    "listed",
    [
        ">>> ort.get_available_providers()\n['TensorrtExecutionProvider', 'CUDAExecutionProvider', 'CPUExecutionProvider']",
        "available providers: ['CUDAExecutionProvider', 'CPUExecutionProvider']",
        "get_available_providers() lists TensorrtExecutionProvider and CUDAExecutionProvider",
    ],
)
def test_a_build_of_onnx_runtime_that_lists_cuda_is_the_one_for_gpus(listed: str) -> None:
    told = explain(f"onnxruntime-gpu 1.22\n{listed}\nsession.get_providers()\n['CPUExecutionProvider']")
    first = {r.cause for r in told.causes[:2]}
    assert "lists CUDA's provider" in told.says.meaning
    assert not first & {"duplicate_framework_packages", "framework_cpu_only_build"}
    assert first <= {
        "cuda_not_on_search_path",
        "cuda_toolkit_version_mismatch",
        "cudnn_major_mismatch",
        "program_error",
    }


def test_providers_that_a_program_asks_for_are_no_list_of_what_is_there() -> None:
    asked = "InferenceSession(path, providers=['TensorrtExecutionProvider', 'CUDAExecutionProvider'])"
    told = explain(f"{asked}\nAvailable providers: 'AzureExecutionProvider, CPUExecutionProvider'")
    assert told.causes[0].cause in {"duplicate_framework_packages", "framework_cpu_only_build"}


def test_the_runtime_compiler_of_another_major_version_speaks_of_versions() -> None:
    told = explain(
        "CUDA toolkit 13.0, torch 2.9.1\nImportError: libnvrtc.so.12: cannot open shared object file: No such file"
    )
    assert "cuda_toolkit_version_mismatch" in {r.cause for r in told.causes[:2]}
    assert told.causes[0].score < 0.8


FIRST_LINES = {
    # what only one fault prints, before what many print
    "nvidia-container-cli: initialization error: WSL environment detected but no adapters were found": "passes into WSL",
    "ptxas /tmp/x, line 5; fatal   : Unsupported .version 8.4; current version is '8.2'\nptxas fatal   : aborted": "newer CUDA",
    "ERROR: No matching distribution found for torch==2.6.0+cu121": "no build",
    "ImportError: libnuma.so.1: cannot open shared object file\n[sgl_kernel] CRITICAL: Could not load any common_ops library!": "SGLang",
    "NansException: A tensor with all NaNs was produced in VAE": "NaN",
}


@pytest.mark.parametrize("text", FIRST_LINES)
def test_the_first_line_is_about_the_most_exact_message(text: str) -> None:
    assert FIRST_LINES[text] in explain(text).says.meaning
    assert "loss" not in explain(text).says.meaning


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("PyTorch: the outputs are NaN since 2.3; downgrading to 2.1 fixes it", "wrong_results"),
        ("NotImplementedError: aten::_cummax is not currently implemented for the MPS device", "program_error"),
        (
            "xformers: Error caught was: No module named 'triton'\nIs this normal? Generation goes on.",
            "harmless_message",
        ),
        ("Docker host: after apt upgrade of the nvidia driver no container uses the GPU", "container_cdi_unresolved"),
    ],
)
def test_what_the_rest_of_the_text_says_comes_up_too(text: str, cause: str) -> None:
    assert cause in [r.cause for r in explain(text).causes[:5]]


BESIDE = {
    # what the text tells of its history or its machine counts beside any exact message
    "diffusers from main, a commit of last week works\nRuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!": "upstream_packaging_bug",
    "Since the newest nightly image: nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8": "upstream_packaging_bug",
    "image 2.4.0-gpu, with 2.3.0 it works\nUnable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}": "upstream_packaging_bug",
    "docker compose up -d on a computer without an NVIDIA card\ncould not select device driver \"nvidia\" with capabilities: [[gpu]]": "no_nvidia_gpu",
}  # fmt: skip


@pytest.mark.parametrize("text", BESIDE)
def test_what_speaks_beside_an_exact_message_stays_in_question(text: str) -> None:
    told = explain(text)
    assert BESIDE[text] in [r.cause for r in told.causes[:3]]
    assert told.causes[0].score < 0.8 or told.causes[0].cause == BESIDE[text]


CONTRADICTIONS = {
    # two facts of one text contradict each other, so the release itself is faulty
    "Outdated cuDNN installation found.\nVersion JAX was built against: 8907\nMinimum supported: 9100\nInstalled version: 8907": "upstream_packaging_bug",
    "tool-0.20.0-cp38-abi3-manylinux_2_31_x86_64.whl\nImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found": "upstream_packaging_bug",
    "/bin/sh: 1: :/usr/local/cuda-12.8/bin/nvcc: not found\nninja: build stopped: subcommand failed.": "cuda_path_env_wrong",
}  # fmt: skip


@pytest.mark.parametrize("text", CONTRADICTIONS)
def test_a_text_that_contradicts_itself_names_what_is_wrong(text: str) -> None:
    assert explain(text).causes[0].cause == CONTRADICTIONS[text]


@pytest.mark.parametrize(
    "text",
    [
        # versions that agree
        "Outdated cuDNN installation found.\nVersion JAX was built against: 9100\nMinimum supported: 9100\nInstalled version: 8907",
        "tool-0.20.0-cp38-abi3-manylinux_2_34_x86_64.whl\nImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found",
        "/bin/sh: 1: /usr/local/cuda-12.8/bin/nvcc: not found",
    ],
)
def test_a_text_that_agrees_with_itself_does_not(text: str) -> None:
    assert explain(text).causes[0].cause not in {"upstream_packaging_bug", "cuda_path_env_wrong"}


def test_an_index_that_has_other_releases_is_no_other_python() -> None:
    told = explain(
        "pip install torch==2.4.1 --index-url https://download.pytorch.org/whl/cu118\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.4.1 (from versions: 2.2.0+cu118, 2.2.1+cu118)"
    )
    assert told.causes[0].cause == "upstream_packaging_bug"
    assert "package_for_another_python" not in [r.cause for r in told.causes[:1]]


def test_a_program_that_starts_cuda_was_built_with_it() -> None:
    told = explain(
        "llama-server\nggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected\n"
        "warning: no usable GPU found, --gpu-layers option will be ignored"
    )
    assert "framework_cpu_only_build" not in [r.cause for r in told.causes[:3]]


def test_a_runner_that_ends_with_127_lacks_a_library_and_no_memory() -> None:
    told = explain("Ollama 0.3.8\nError: llama runner process has terminated: exit status 127")
    assert "gpu_memory_exhausted" not in [r.cause for r in told.causes[:3]]
    assert {"upstream_packaging_bug", "cuda_runtime_missing"} & {r.cause for r in told.causes[:3]}


def test_a_container_in_which_others_use_the_gpu_has_it() -> None:
    told = explain("docker run --gpus all, 其他模型训练都可以正常使用gpu, onnxruntime无法使用CUDAExecutionProvider")
    assert told.causes[0].cause == "duplicate_framework_packages"


@pytest.mark.parametrize("nvcc", [":/usr/local/cuda-12.8/bin/nvcc", "/usr/local/cuda:/usr/local/cuda/bin/nvcc"])
def test_a_colon_in_the_path_of_nvcc_is_a_list_in_cuda_home(nvcc: str) -> None:
    told = explain(f"/bin/sh: 1: {nvcc}: not found\nninja: build stopped: subcommand failed.")
    assert told.causes[0].cause == "cuda_path_env_wrong"
    assert "colon" in told.says.meaning


def test_a_compiler_that_is_absent_is_no_wrong_variable() -> None:
    told = explain("/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found\nninja: build stopped: subcommand failed.")
    assert told.causes[0].cause == "build_tools_missing"


def test_a_record_without_a_version_is_an_interrupted_installation() -> None:
    told = explain(
        "ValueError: Unable to compare versions for numpy>=1.17: need=1.17 found=None. This is unusual. Consider reinstalling numpy."
    )
    assert told.causes[0].cause == "installation_interrupted"


def test_a_log_that_names_the_variant_for_avx2_does_not_lack_it() -> None:
    told = explain(
        'level=INFO source=gpu.go:620 msg="no nvidia devices detected by library /usr/lib64/libcuda.so.550.144.03"\n'
        'level=INFO source=types.go:131 msg="inference compute" id=0 library=cpu variant=avx2 compute="" driver=0.0'
    )
    assert "cpu_instruction_set_missing" not in {r.cause for r in told.causes[:3]}


def test_what_says_only_whose_gpu_it_is_is_never_sure() -> None:
    told = explain("RX 7800 XT\nRuntimeError: Found no NVIDIA driver on your system.")
    assert told.causes[0].cause == "other_maker_gpu"
    assert told.causes[0].score <= 0.75


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "error: failed to run custom build command for `cudarc v0.11.6`\nbuild.rs:79:14:\nUnsupported cuda toolkit version: `12.6`. Please raise a github issue.",
            "upstream_packaging_bug",
        ),
        (
            "Cuda device: NVIDIA GeForce RTX 4090\nSetKernelsGpuData copy to cData failed invalid device symbol",
            "gpu_arch_too_new",
        ),
        (
            "No devices were found\nDeviceGetCount: count=0 ret=Success\n20 cgroup_device multi sd_devices",
            "container_lost_devices",
        ),
        (
            "OS: windows\nkernel_of_mine imported before torch\nImportError: DLL load failed while importing kernel_of_mine: The specified module could not be found.",
            "python_dll_search_change",
        ),
        ("OS: linux\nTriton: the image of the trainer: missing C compiler", "build_tools_missing"),
        (
            "Arc B70, image of vLLM 0.17 for XPU\nAssertionError: Torch not compiled with CUDA enabled",
            "other_maker_gpu",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [WinError 206] The filename or extension is too long",
            "path_too_long",
        ),
        ("No such file or directory: '/path/to/cuda-11.8/bin/nvcc'", "cuda_path_env_wrong"),
        (
            "GTX 1650, backend 'rocm'\nValueError: implementation='triton' is unsupported on this GPU generation.",
            "gpu_arch_too_old",
        ),
        (
            "faiss-cpu 1.10.0\nFailed to load GPU Faiss: name 'GpuIndexIVFFlat' is not defined. Will not load constructor refs for GPU indexes.",
            "harmless_message",
        ),
        (
            "Jetson Thor, torch 2.9.1+cu128\nCUDA error: no kernel image is available for execution on the device",
            "gpu_arch_too_new",
        ),
        ("import torch\nImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent", "requirement_broken"),
        ("On the head node\nError initializing CUDA: CUDA_ERROR_NO_DEVICE (100)", "no_nvidia_gpu"),
    ],
)
def test_classes_of_the_newest_sets(text: str, cause: str) -> None:
    assert explain(text).causes[0].cause == cause


def test_the_backends_that_xla_tries_are_no_maker() -> None:
    told = explain(
        "xla_bridge.py:895] Unable to initialize backend 'rocm'\nCUDA_ERROR_NO_DEVICE: no CUDA-capable device"
    )
    assert "other_maker_gpu" not in {r.cause for r in told.causes[:3]}


@pytest.mark.parametrize(
    "line", ["/bin/sh: 1: g++: not found", "bash: gcc-12: command not found", "make: cc: not found"]
)
def test_a_shell_that_does_not_find_the_compiler_says_so(line: str) -> None:
    told = explain(f"OS: linux\n{line}\nRuntimeError: Error building extension 'fused'")
    assert told.causes[0].cause == "build_tools_missing"
    assert "A compiler or header was not found." in told.causes[0].because


@pytest.mark.parametrize(
    ("text", "contained"),
    [
        ("training without docker, unexpected bus error encountered in worker", False),
        ("this is not in a container: insufficient shared memory (shm)", False),
        ("docker run without --shm-size: insufficient shared memory (shm)", True),
        ("outside the container it works: insufficient shared memory (shm)", True),
    ],
)
def test_a_text_that_denies_a_container_is_about_none(text: str, contained: bool) -> None:
    assert ("container" in read_text(text).marks) is contained
    told = explain(text).causes[0]
    assert told.cause == "shared_memory_too_small"
    assert ("It happened in a container." in told.because) is contained


def test_a_word_of_a_program_is_no_system() -> None:
    marks = read_text(
        "MacBook, model = NHITS(windows_batch_size=None)\nnot currently implemented for the MPS device"
    ).marks
    assert "macos" in marks or "maker-apple" in marks
    assert "windows" not in marks
    assert "windows" in read_text("Windows 11, CUDA error: out of memory").marks


def test_a_library_s_own_crash_says_more_than_that_the_program_ended() -> None:
    told = explain("SIGSEGV\n#0  0x00007fff in ?? () from /opt/rocm/lib/libamdhip64.so.5")
    assert told.says.meaning.startswith("The program ended inside ROCm's library")


@pytest.mark.parametrize("card", ["1050gtx ti", "1060 GTX", "GTX 1070", "1050ti"])
def test_a_card_is_known_in_the_order_in_which_people_write_it(card: str) -> None:
    told = explain(f"{card}: no kernel image is available for execution on the device")
    assert told.causes[0].cause == "gpu_arch_too_old"
    assert "It names an old GPU." in told.causes[0].because
