"""What a text shows of its own machine proves and refutes without a scan."""

from __future__ import annotations

import pytest

from core.explain import explain
from core.explain.pasted import judge_pasted, read_pasted
from core.explain.reading import read_text

SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2       |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:01:00.0 Off |                    0 |
| 34%   33C    P8             44W /  450W |    3616MiB /  40960MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
COLLECT = """\
Collecting environment information...
PyTorch version: 2.4.0+cu121
CUDA used to build PyTorch: 12.1
ROCM used to build PyTorch: N/A
OS: Ubuntu 22.04.4 LTS (x86_64)
Is CUDA available: True
CUDA runtime version: 12.1.105
Nvidia driver version: 535.104.05
[pip3] numpy==1.26.4
[pip3] torch==2.4.0
"""


def pip(*rows: str) -> str:
    """Return a table as pip list prints it."""
    body = "\n".join(f"{name:24} {version}" for name, version in (r.split("==") for r in rows))
    return f"Package                  Version\n------------------------ -------\n{body}\n"


def test_cuda_that_is_available_refutes_no_variable_that_the_text_speaks_of() -> None:
    assert judge_pasted(read_text(COLLECT))["gpu_hidden_by_env"]["verdict"] == "refuted"
    told = judge_pasted(read_text(f"{COLLECT}\nCUDA_VISIBLE_DEVICES is set, no device is detected"))
    assert "gpu_hidden_by_env" not in told


PROVED = {
    # what a person pastes: the message, and what the machine showed
    "AssertionError: Torch not compiled with CUDA enabled\n" + pip("torch==2.4.0+cpu"): "framework_cpu_only_build",
    "torch.cuda.is_available()\nFalse\nPyTorch version: 2.4.0\nCUDA used to build PyTorch: None\n": "framework_cpu_only_build",
    SMI
    + pip("torch==2.9.0+cu130")
    + "RuntimeError: The NVIDIA driver on your system is too old (found version 12020).": "driver_too_old",
    "CUDAExecutionProvider is not in available provider names.\n"
    + pip("onnxruntime==1.19.0", "onnxruntime-gpu==1.19.0"): "duplicate_framework_packages",
    "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.0\n"
    + pip("numpy==2.0.0"): "numpy_abi_mismatch",
    "C:\\x> tf.config.list_physical_devices('GPU') []\n"
    + pip("tensorflow==2.15.0", "tensorflow-intel==2.15.0"): "tf_native_windows_unsupported",
    "RuntimeError: operator torchvision::nms does not exist\n"
    + pip("torch==2.4.0", "torchvision==0.20.1"): "requirement_broken",
    "RuntimeError: operator torchvision::nms does not exist\n"
    + pip("torch==2.15.0", "torchvision==0.28.0"): "requirement_broken",
    "In our official image import torchaudio raises an exception\n"
    + pip("torch==2.9.0+cu128", "torchvision==0.24.0", "torchaudio==2.11.0"): "requirement_broken",
    "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
    "    PyTorch 2.1.0+cu121 with CUDA 1201 (you have 2.0.1+cu118)": "extension_abi_mismatch",
    "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n"
    + pip("nvidia-cuda-runtime==13.0.96", "torch==2.9.1"): "cuda_toolkit_version_mismatch",
    "OSError: libcublas.so.13: cannot open shared object file: No such file or directory\n"
    + pip("nvidia-cublas-cu12==12.8.4.1", "torch==2.9.1"): "cuda_toolkit_version_mismatch",
    "Mismatched PJRT plugin PJRT API version (0.54) and framework PJRT API version 0.51)\n"
    + pip("jax==0.4.38", "jaxlib==0.4.38", "jax-cuda12-plugin==0.5.0"): "requirement_broken",
    "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file\n"
    + pip("nvidia-cudnn-cu12==9.1.0.70"): "cudnn_major_mismatch",
    "ModuleNotFoundError: No module named 'torch'\n" + pip("torch==2.4.0", "numpy==1.26.4"): "wrong_environment_active",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.79 GiB of which 448.00 MiB is free.": "gpu_memory_exhausted",
    "The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.1)\nPyTorch version: 2.4.0+cu121\n"
    "CUDA used to build PyTorch: 12.1\nCUDA runtime version: 11.8.89\n": "nvcc_toolkit_mismatch_build",
}


@pytest.mark.parametrize("text", PROVED)
def test_a_paste_proves(text: str) -> None:
    best = explain(text).causes[0]
    assert (best.cause, best.verdict, best.by_text) == (PROVED[text], "proved", True)
    assert best.evidence


def test_pastes_decide_at_least_fifteen_causes() -> None:
    texts = (
        *PROVED,
        SMI,
        COLLECT,
        pip("numpy==1.26.4", "tensorflow==2.10.0"),
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07",
    )
    refuted = {c for t in texts for c, v in judge_pasted(read_text(t)).items() if v["verdict"] == "refuted"}
    proved = {c for t in texts for c, v in judge_pasted(read_text(t)).items() if v["verdict"] == "proved"}
    assert len(refuted | proved) >= 28
    assert len(refuted) >= 15
    assert len(proved) >= 10


@pytest.mark.parametrize(
    ("packages", "verdict"),
    [
        (("torch==2.15.0", "torchvision==0.29.2"), "refuted"),
        (("torch==2.15.0", "torchvision==0.99.0"), ""),
        (("torch==9.1.0", "torchvision==0.29.2"), ""),
    ],
)
def test_what_goes_together_is_in_a_table(packages: tuple[str, ...], verdict: str) -> None:
    text = "RuntimeError: operator torchvision::nms does not exist\n" + pip(*packages)
    assert judge_pasted(read_text(text)).get("requirement_broken", {}).get("verdict", "") == verdict


def test_nvidia_smi_is_read_whole() -> None:
    seen = read_pasted(SMI)
    assert (seen.driver, seen.driver_cuda) == ("535.104.05", "12.2")
    assert [(g.name, g.used, g.total, g.mig) for g in seen.gpus] == [("NVIDIA A100-SXM4-40GB", 3616, 40960, "Disabled")]
    assert "mig" not in read_text(SMI).marks


def test_a_listed_gpu_refutes_a_driver_that_is_not_loaded() -> None:
    explained = explain(SMI + "RuntimeError: Found no NVIDIA driver on your system.")
    verdicts = {r.cause: r.verdict for r in explained.causes}
    assert verdicts["driver_module_not_loaded"] == "refuted"
    assert explained.causes[0].verdict == "open"


def test_a_message_alone_decides_nothing() -> None:
    assert judge_pasted(read_text("Failed to initialize NVML: Driver/library version mismatch")) == {}
    assert judge_pasted(read_text("torch 2.4.0 and numpy 2.0.0 are installed")) == {}


@pytest.mark.parametrize(
    "unit", ["| 0 NVIDIA A ", "a==1\n", "x  1.0 ", "GPU 0: NVIDIA ", "Tried to allocate 1", "0MiB / "]
)
def test_repeated_pieces_take_no_time_to_speak_of(unit: str) -> None:
    assert explain((unit * (400_000 // len(unit))) + " cuda").sentence
