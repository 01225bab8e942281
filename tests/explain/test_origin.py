"""What a text tells of the machine that printed it, against this machine: it refutes a proof, or shows another machine."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.explain import explain
from core.explain.mechanism.fault_facts import FaultFacts
from core.explain.mechanism.objections import another_driver, another_environment, another_toolkit_folder
from core.explain.origin import system_of
from core.explain.reading import read_text
from core.model.facts import Distribution, Snapshot
from tests import machines as m
from tests.explain.threads import all_threads

BITSANDBYTES_512 = next(t for t in all_threads(("second",)) if t.url.endswith("/bitsandbytes/issues/512"))
"""From Windows, where bitsandbytes looks for libcudart.so, a name of Linux."""


def linux_without_search() -> Snapshot:
    """A Linux machine with a toolkit in a folder that nothing searches."""
    names = {"libcudart.so": "12.4.127", "libcudart.so.12": "12.4.127"}
    return replace(m.system_machine(), toolkits=(m.toolkit("/opt/cuda-12.4/lib64", names),))


def about(seen: Snapshot) -> FaultFacts:
    return FaultFacts("", seen)


def test_a_text_from_windows_is_not_proved_on_linux_by_a_file_name_of_linux() -> None:
    assert system_of(read_text(BITSANDBYTES_512.text)) == "windows"
    told = explain(BITSANDBYTES_512.text, linux_without_search())
    assert told.link == "elsewhere"
    assert told.foreign
    assert "proved" not in {r.verdict for r in told.causes}
    here = BITSANDBYTES_512.text.replace("E:\\Miniconda3\\envs\\AI002\\lib", "/opt/ml/lib").replace("\\", "/")
    assert explain(here, linux_without_search()).foreign == ""


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("E:\\ml\\bin: libcudart.so not found", "windows"),
        ("libcudart.so.12: cannot open shared object file", "linux"),
        ("/usr/local/lib/python3.10: cannot open cudnn64_9.dll", "linux"),
        ("cudnn64_9.dll not found", "windows"),
        ("unknown error at ..\\aten\\src\\THC\\THCGeneral.cpp:87", "windows"),
        ("C:\\ml: WindowsPath('/usr/local/cuda/lib64') does not exist", "windows"),
        ("D:\\a\\_work\\1\\s\\onnxruntime\\core: libcudnn.so.9: cannot open", ""),
        ("/home/ada/x and C:\\ml", ""),
        ("WSL2, C:\\ml: libcuda.so", ""),
        ("C:\\ml> docker run --gpus all: nvidia-container-cli: libcuda.so.1: not found", ""),
        ("CUDA out of memory", ""),
    ],
)
def test_the_system_of_a_text_is_that_of_its_paths_before_that_of_its_names(text: str, system: str) -> None:
    assert system_of(read_text(text)) == system


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4\nError 803", True),
        ("NVIDIA-SMI 580.65.06    Driver Version: 580.65.06    CUDA Version: 13.0\nError 803", False),
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  470.57.02  Mon", True),
        ("cannot load /usr/lib/libcuda.so.555.42.06", True),
        ("cannot load /usr/lib/libcuda.so.580.65.06", False),
        ("The 470.57.02 NVIDIA driver will ignore this GPU", True),
        ("cannot load libcuda.so.1", False),
        ("Error 803", False),
    ],
)
def test_a_text_of_another_driver(text: str, against: bool) -> None:
    assert bool(another_driver(read_text(text), about(m.wheel_machine()))) is against
    unknown = replace(m.wheel_machine(), driver=None)
    assert another_driver(read_text(text), about(unknown)) == ""


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("/opt/x/lib/python3.8/site-packages/torch: it fails", True),
        ("C:\\Python38\\lib\\site-packages\\torch: it fails", True),
        ("flash_attn_2_cuda.cpython-38-x86_64-linux-gnu.so: it fails", True),
        ("/opt/x/lib/python3.11/site-packages/torch: it fails", False),
        ("torch 1.9.0+cu111: it fails", True),
        ("torch 2.5.1+cu124: it fails", False),
        ("built for torch 1.9.0+cu111 (you have 2.5.1+cu124)", False),
        ("it fails", False),
    ],
)
def test_a_text_of_another_environment(text: str, against: bool) -> None:
    torch = Distribution(name="torch", version="2.5.1")
    seen = replace(m.wheel_machine(), pythons=(m.python(version="3.11.9", distributions=(torch,)),))
    assert bool(another_environment(read_text(text), about(seen))) is against
    assert another_environment(read_text(text), about(replace(seen, pythons=()))) == ""


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("LD_LIBRARY_PATH: /usr/local/cuda-10.1/lib64", True),
        ("C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v10.1\\bin", True),
        ("/usr/local/cuda-12.4/lib64/libcublas.so", False),
        ("/usr/local/cuda-12.4 and /usr/local/cuda-10.1", False),
        ("/usr/local/cuda/lib64", False),
    ],
)
def test_a_text_of_another_toolkit(text: str, against: bool) -> None:
    toolkit = replace(
        m.toolkit("/usr/local/cuda-12.4/lib64", {"libcudart.so.12": "12.4.127"}), root="/usr/local/cuda-12.4"
    )
    seen = replace(m.wheel_machine(), toolkits=(toolkit,))
    assert bool(another_toolkit_folder(read_text(text), about(seen))) is against
    assert another_toolkit_folder(read_text(text), about(replace(seen, toolkits=None))) == ""
    named = m.with_variable(seen, "LD_LIBRARY_PATH", "/usr/local/cuda-10.1/lib64")
    assert another_toolkit_folder(read_text("/usr/local/cuda-10.1/lib64"), about(named)) == ""


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("/lib/x86_64-linux-gnu/libcudnn_graph.so.9: undefined symbol: x", True),
        (f"{m.CUDNN}/libcudnn_graph.so.9: undefined symbol: x", False),
        (f"{m.SITE}/torch/lib/../../nvidia/cudnn/lib/libcudnn_graph.so.9: undefined symbol: x", False),
        ("libcudnn_graph.so.9: undefined symbol: x", False),
        ("/opt/x/lib/libtorch.so: undefined symbol: x", False),
    ],
)
def test_a_text_about_a_file_that_is_not_here(text: str, against: bool) -> None:
    assert bool(another_toolkit_folder(read_text(text), about(m.wheel_machine()))) is against
    system = m.system_machine()
    assert another_toolkit_folder(read_text("/lib/x86_64-linux-gnu/libcudnn.so.9: x"), about(system)) == ""
