"""Every cause leads on: steps for the system and the framework of the text, and the check that tells success."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import resources
from core.common import i18n
from core.explain import answer_question, explain
from core.explain.model import RankedCause
from core.explain.reading import read_text
from core.explain.steps import with_steps
from core.knowledge.causes import CauseRow, cause_rows
from core.knowledge.messages import known_clues
from core.knowledge.steps import cure_steps
from core.report.help_pages import CURE_SECTION

HELP = Path(resources.__path__[0]) / "help" / "en"


def test_every_cause_says_how_one_sees_that_it_is_gone() -> None:
    told: set[str] = set(cure_steps().checks)
    told |= {p.stem for p in HELP.glob("*.md") if "It worked if" in p.read_text(encoding="utf-8")}
    assert {row.cause for row in cause_rows()} - told == set()


COMMAND = re.compile(
    r"\b(?:sudo|python3?|pip|conda|nvidia-smi|nvidia-ctk|docker|podman|export|unset|env|grep|ls|ldconfig|where|find|findmnt|lspci"
    r"|systeminfo|setx|dir|ren|mv|icacls|namei|winget|powershell|mokutil|wsl|df|lscpu|convalesce|bcdedit|pnputil|ulimit|nvcc|cat|echo)"
    r" [-\w~/\"'$%.*|]"
)
"""The beginning of a command that can be copied."""
ONLY_ON = {
    # causes that one system alone knows
    "windows": {"zlibwapi_missing", "python_dll_search_change", "tf_native_windows_unsupported", "vc_runtime_missing", "page_file_too_small"},
    "linux": {"ld_library_path_override", "driver_library_mismatch", "secure_boot_blocks_module", "uvm_stale_after_suspend", "wsl_libcuda_not_found", "address_space_limited", "service_confined"},
}  # fmt: skip
NOTHING_TO_DO = {"harmless_message"}


@pytest.mark.parametrize("system", ["linux", "windows"])
@pytest.mark.parametrize("row", cause_rows(), ids=lambda row: row.cause)
def test_every_open_cause_leads_on(row: CauseRow, system: str) -> None:
    if row.cause in ONLY_ON["linux" if system == "windows" else "windows"]:
        system = "linux" if system == "windows" else "windows"
    told = with_steps(RankedCause(cause=row.cause, score=0.5, because=("a reason",)), frozenset({system})).steps
    lines = told.split("\n")
    assert "It worked if" in told or row.cause in NOTHING_TO_DO
    assert COMMAND.search(told) or row.cause in NOTHING_TO_DO
    assert len(set(lines)) == len(lines)


def test_a_question_has_answers_that_are_causes() -> None:
    causes = {row.cause for row in cause_rows()}
    assert [q.ask for q in known_clues().questions if len(q.answers) < 2] == []
    assert {a.cause for q in known_clues().questions for a in q.answers} <= causes


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("AssertionError: Torch not compiled with CUDA enabled", "download.pytorch.org/whl"),
        ("docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].", "nvidia-ctk runtime configure"),
        ("flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", "--no-build-isolation"),
        ("a Docker image, in it nvidia-smi: Failed to initialize NVML: Driver/library version mismatch", "out of the image"),
        ("nvidia-container-cli: initialization error: WSL environment detected but no adapters were found", "wsl -l -v"),
        ("libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent", 'conda install "mkl<2024.1"'),
        ("OS: linux\nRuntimeError: Triton Error [CUDA]; /usr/bin/ld: cannot find -lcuda", "ldconfig -p"),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", "--max-model-len"),
    ],
)  # fmt: skip
def test_the_first_cause_has_the_exact_step(text: str, step: str) -> None:
    assert step in explain(text).causes[0].steps


@pytest.mark.parametrize(
    ("text", "first", "absent"),
    [
        ("CUDA error: invalid device ordinal", "1. Invalid device ordinal", "Device-side assert"),
        ("OS: windows\nRuntimeError: Failed to find C compiler. Please specify via CC", "1. C compiler on Windows", "apt install"),
        ("OS: windows\nLNK2019: unresolved external symbol cuGetErrorString", "1. Windows: give the linker cuda.lib; dir", "ldconfig"),
        ("OS: windows\nnvcc fatal   : Cannot find compiler 'cl.exe' in PATH", "1. C compiler on Windows: the Build Tools", "apt install"),
        ("xpu device_count 0, torch.xpu of intel_extension_for_pytorch, Arc A770", "1. Intel: [^\\n]*usermod -aG render", "ROCm"),
        ("OS: linux\nRuntimeError: Failed to find C compiler. Please specify via CC", "1. C compiler and headers on Linux", "triton-windows"),
        ("I have an M2 mac\nAssertionError: Torch not compiled with CUDA enabled", "1. Apple", "Intel"),
        ("Unable to initialize backend 'cuda': Unexpected PJRT_Client_Create_Args size: expected 88, got 72.", "JAX, all parts", "NAME"),
        ("_pickle.UnpicklingError: Weights only load failed.", "A model: compare", "NAME"),
        ("OS: linux\nERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "First remove what stopped it", "NAME"),
        ("ERROR: No matching distribution found for torchao==0.6", "If pip finds no package", "PACKAGE"),
        ("error loading model: unknown model architecture: 'qwen3moe'", "Take the newest release of the program that loads the model", "Device-side assert"),
        ("ImportError: cannot import name 'numpy_support' from 'numba' (numba/__init__.py)", "See the release of what is called: python -m pip show numba", "NAME"),
        ("ImportError: cannot import name 'x' from 'sklearn.utils' (sklearn/utils/__init__.py)", "See the release of what is called: python -m pip show scikit-learn", "NAME"),
        ("site-packages/mmcv/_ext.cpython-38-x86_64-linux-gnu.so: undefined symbol: _ZNK2at10TensorBase8data_ptrIdEEPT_v", "Build it for what is installed: python -m pip uninstall mmcv", "NAME"),
    ],
)  # fmt: skip
def test_what_the_text_says_chooses_the_first_step(text: str, first: str, absent: str) -> None:
    told = explain(text).causes[0].steps
    assert re.match(first, told)
    assert absent not in told


@pytest.mark.parametrize("language", ["de", "zh_CN"])
def test_the_package_stands_in_the_steps_of_every_language(language: str) -> None:
    i18n.use_language(language)
    try:
        steps = explain("Because torchcodec==0.10.0 has no wheels with a matching platform tag").causes[0].steps
    finally:
        i18n.use_language("en")
    assert "torchcodec" in steps


def test_a_page_keeps_all_its_steps_where_none_is_for_the_text() -> None:
    told = with_steps(RankedCause(cause="program_error", score=0.5, because=("a reason",))).steps
    assert [line[:2] for line in told.split("\n")] == ["1.", "2.", "3.", "4.", "5."]


def test_steps_for_one_message_are_on_the_page() -> None:
    for row in cure_steps().only:
        for folder in HELP.parent.iterdir():
            cure = (folder / f"{row.cause}.md").read_text(encoding="utf-8").split("\n## ")[CURE_SECTION]
            assert 1 <= row.item < len([line for line in cure.split("\n") if line]), (row, folder)


def test_a_step_for_the_other_system_goes() -> None:
    about = RankedCause(cause="build_tools_missing", score=0.5, because=("a reason",))
    told = {mark: with_steps(about, frozenset({mark})).steps for mark in ("linux", "windows", "wsl", "pytorch")}
    assert [m for m, steps in told.items() if "triton-windows" in steps] == ["windows", "wsl", "pytorch"]
    assert [m for m, steps in told.items() if "apt install" in steps] == ["linux", "wsl", "pytorch"]


def test_a_question_leaves_out_what_the_system_does_not_have() -> None:
    text = "RuntimeError: No CUDA GPUs are available"
    assert "device_node_permission" in explain(f"OS: linux\n{text}").answers
    assert "device_node_permission" not in explain(f"OS: windows\n{text}").answers


def test_the_check_comes_last() -> None:
    assert (
        explain("Failed to initialize NVML: Driver/library version mismatch")
        .causes[0]
        .steps.endswith("It worked if nvidia-smi prints its table again.")
    )


@pytest.mark.parametrize(
    "text",
    [
        "![image](https://example.org/a/b)",
        '<img width="1000" src="https://example.org/a.png">',
        "https://example.org/error.PNG",
    ],
)
def test_a_link_to_a_picture_is_called_one(text: str) -> None:
    assert "picture" in explain(text).sentence


def test_an_answer_ranks_its_cause_first_and_leads_on() -> None:
    asked = explain("torch.cuda.is_available() returns False")
    assert len(asked.answers) == len(asked.decide.split("\n")) - 1 >= 2
    for number, cause in enumerate(asked.answers, 1):
        told = answer_question(asked, number)
        assert (told.causes[0].cause, told.decide, told.answers) == (cause, "", ())
        assert told.causes[0].score > 0.8
        assert told.causes[0].steps
        assert sum(r.score for r in told.causes) <= 0.901
    with pytest.raises(ValueError, match="9"):
        answer_question(asked, 9)


@pytest.mark.parametrize(
    ("text", "step", "absent"),
    [
        ("System.EntryPointNotFoundException in Microsoft.ML.OnnxRuntime.dll", "Microsoft.ML.OnnxRuntime.Gpu", "pip"),
        ("ollama 0.5 runs on the CPU, its package was built without CUDA", "ollama-cuda", "pip"),
        ("ollama, RX 6600: amdgpu is not supported, gpu_type=gfx1032; the model runs on the CPU", "/dev/kfd", r"torch\."),
        ("ollama in Python: import torch; AssertionError: Torch not compiled with CUDA enabled", "pip install", "cargo build"),
    ],
)  # fmt: skip
def test_a_program_that_is_no_python_package_gets_no_steps_for_pip(text: str, step: str, absent: str) -> None:
    steps = "\n".join(r.steps for r in explain(text).causes[:2])
    assert step in steps
    assert not re.search(absent, steps)


@pytest.mark.parametrize(
    ("cause", "text", "step", "absent"),
    [
        ("system_library_missing", "ImportError: libEGL.so.1: cannot open shared object file", "apt-file search libEGL.so.1", "libGL.so.1"),
        ("host_compiler_unsupported", "unsupported GNU version! gcc versions later than 11 are not supported!", "apt install gcc-11 g++-11", "12"),
        ("fabric_manager_not_running", "don't match with driver version 535.41.03", "nvidia-fabricmanager-535", "570"),
        ("compiler_lacks_gpu_arch", "compute capability 12.1, nvcc fatal: Unsupported gpu architecture", "ARCH_LIST=12.1", "ARCH_LIST=8"),
        ("cudnn_minor_too_old", "jaxlib v0.4.11+cuda11.cudnn86", "nvidia-cudnn-cu11", "cu12"),
        ("cudnn_minor_too_old", "torch 2.1+cu118 and jaxlib of cuda12", "nvidia-cudnn-cu12", "cu11"),
    ],
)  # fmt: skip
def test_what_the_text_names_stands_in_the_steps(cause: str, text: str, step: str, absent: str) -> None:
    about = RankedCause(
        cause=next(row.cause for row in cause_rows() if row.cause == cause), score=0.5, because=("a reason",)
    )
    told = with_steps(about, frozenset({"jax"}), text).steps
    assert step in told
    assert absent not in told


@pytest.mark.parametrize("system", ["linux", "windows"])
@pytest.mark.parametrize("row", cause_rows(), ids=lambda row: row.cause)
def test_the_last_step_is_the_check(row: CauseRow, system: str) -> None:
    told = with_steps(RankedCause(cause=row.cause, score=0.5, because=("a reason",)), frozenset({system})).steps
    assert "It worked if" in told.split("\n")[-1] or row.cause in NOTHING_TO_DO


def test_a_compiler_is_named_as_the_system_does() -> None:
    about = RankedCause(cause="host_compiler_unsupported", score=0.5, because=("a reason",))
    told = {mark: with_steps(about, frozenset({mark})).steps for mark in ("linux", "windows")}
    assert "export CC=" in told["linux"]
    assert "export CC=" not in told["windows"]
    assert "-ccbin" in told["windows"]


CHOSEN = {
    # text: (cause, how the first step of its message begins)
    "ptxas error   : Feature '.bf16' requires .target sm_80 or higher\nPyTorch on a Tesla T4": ("gpu_arch_too_old", "This GPU does not compute in bfloat16"),
    "RuntimeError: Found Tesla P100-PCIE-16GB which is too old to be supported by the triton GPU compiler": ("gpu_arch_too_old", "Triton has no code for this GPU"),
    "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only machine, please use torch.load": ("framework_cpu_only_build", "The file was saved on a GPU."),
    "OCI runtime create failed: could not apply required modification to OCI specification: error modifying OCI spec: requirements not met:\ncuda>=13.3||brand=tesla&&driver>=535": ("driver_too_old", "Update the driver"),
    "all ranks: init complete, then nothing\nNCCL_P2P_DISABLE=1 torchrun --nproc_per_node=2 smoke.py succeeds": ("nccl_failed", "1. Direct access between cards fails"),
    "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:139a)\nNVRM: installed in this system is not supported by open\nNVRM: nvidia.ko because it does not include the required GPU": ("legacy_driver_required", "The open kernel module has no code"),
    "ValueError: Free memory on device (3.2/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, 21.28 GiB).": ("gpu_memory_exhausted", "The message names the free and the whole memory"),
    "RuntimeError: operator torchvision::nms does not exist": ("requirement_broken", "Let the installer choose the pair"),
    "ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to upgrade torch to at least v2.6": ("requirement_broken", "PyTorch 2.6 or later"),
}  # fmt: skip


@pytest.mark.parametrize("text", CHOSEN)
def test_the_step_for_the_message_comes_first(text: str) -> None:
    cause, begin = CHOSEN[text]
    first = explain(text).causes[0]
    assert first.cause == cause
    assert (first.steps or "").startswith(begin)


def test_what_an_installer_finds_no_build_of_is_named() -> None:
    text = "Because torchcodec==0.10.0 has no wheels with a matching platform tag (e.g., `manylinux_2_39_aarch64`), your requirements are unsatisfiable."
    first = explain(text).causes[0]
    assert first.cause == "package_for_another_python"
    assert "take a release of torchcodec that has a build for yours" in (first.steps or "")


BESIDE_THE_COMPLAINT = {
    # where the file lies -> whether its folder is not searched
    "libcudart.so.11.0: cannot open shared object file: No such file or directory\n/home/ada/ml/lib/libcudart.so.11.0 is there": True,
    "libcudart.so.11.0: cannot open shared object file: No such file or directory\nls /opt/cuda/lib64/libcudart.so.12.0": False,
    "OSError: /opt/cuda/lib64/libcudart.so.11.0: cannot open shared object file: No such file or directory": False,
}


@pytest.mark.parametrize("text", BESIDE_THE_COMPLAINT)
def test_a_missing_file_whose_path_the_text_names_is_not_searched(text: str) -> None:
    assert ("missing-is-there" in read_text(text).marks) == BESIDE_THE_COMPLAINT[text]
    assert explain(text).causes[0].cause == "cuda_not_on_search_path" or not BESIDE_THE_COMPLAINT[text]


def test_zero_bytes_of_free_memory_are_no_damaged_file() -> None:
    free = "CUDA out of memory. GPU 0 has a total capacity of 11.99 GiB of which 0 bytes is free."
    assert {s.id for s in read_text(free).symptoms} & {"truncated"} == set()
    assert "truncated" in {s.id for s in read_text("cudnn64_9.dll has 0 bytes, the download stopped").symptoms}


CARDS = {
    "GPU 3090": {"gpu:recent"},
    "2x 4090, driver 550": {"gpu:recent"},
    "my 5060 Ti": {"gpu:recent", "gpu:newest"},
    "A800 80G": {"gpu:recent"},
    "http://localhost:5060, port 3090, at 0x4090": set(),
}


@pytest.mark.parametrize("text", CARDS)
def test_cards_are_known_by_their_number_alone(text: str) -> None:
    assert {m for m in read_text(text).marks if m.startswith("gpu:")} == CARDS[text]
