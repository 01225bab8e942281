"""What speaks against a text and a finding having to do with each other, as a table: machine, text, what is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from core.explain.mechanism.complaints import CAUSED_COMPLAINTS, asks_in_vain, reports_mixed_releases, same_answer
from core.explain.mechanism.driver_answers import driver_marks
from core.explain.mechanism.fault_facts import FaultFacts, fault_facts
from core.explain.mechanism.libraries import is_same_library
from core.explain.mechanism.mechanism import find_mechanism
from core.explain.mechanism.objections import (
    after_suspend,
    another_copy,
    another_framework,
    another_gpu,
    another_library,
    another_maker,
    another_release,
    another_system,
    compiler_reports,
    driver_responds,
    engines_message,
    inside_container,
    inside_wsl,
    program_selects_gpus,
)
from core.explain.reading import ParsedText, read_text
from core.knowledge.library_names import LibraryName, parse_library_name
from core.model.facts import Call, CudaInit
from core.model.findings import Evidence
from tests import machines as m

Objection = Callable[[ParsedText, FaultFacts], str]


def about(cause: str = "", *files: str, **fields: object) -> FaultFacts:
    libraries = tuple(x for f in files if (x := parse_library_name(f)))
    return FaultFacts(cause, fields.pop("seen", m.wheel_machine()), files=libraries, **fields)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("libcudnn.so.9", "libcudnn_ops.so.9.1.0", True),
        ("libcudnn.so.9", "libcudnn.so.8", False),
        ("libcudnn.so", "libcudnn.so.8", True),
        ("libcudnn.so.9.1.0", "libcudnn.so.9.2.0", True),
        ("libcublas.so.12", "libcudnn.so.9", False),
        ("libcublas.so.12", "libcublas.so.11", False),
        ("libcudnn.so.9", "cudnn64_9.dll", False),
    ],
)
def test_two_names_of_one_library(one: str, other: str, same: bool) -> None:
    first, second = parse_library_name(one), parse_library_name(other)
    assert isinstance(first, LibraryName)
    assert isinstance(second, LibraryName)
    assert is_same_library(first, second) is same
    assert is_same_library(second, first) is same


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible", True),
        ("RTX 3090 is out of memory", False),
        ("RTX 4090 is out of memory", True),
        ("out of memory", False),
    ],
)
def test_a_text_about_another_gpu(text: str, against: bool) -> None:
    assert bool(another_gpu(read_text(text), about())) is against
    none = m.with_driver(m.wheel_machine(), gpus=())
    assert another_gpu(read_text(text), about(seen=none)) == ""


@pytest.mark.parametrize(
    ("file", "against"),
    [("libcudnn_ops.so.9", False), ("libcublas.so.12", True), ("libcudnn_ops.so.8", True)],
)
def test_a_text_about_another_library(file: str, against: bool) -> None:
    reading = read_text("Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}")
    assert bool(another_library(reading, about("", file))) is against
    assert another_library(reading, about("")) == ""
    assert another_library(read_text("it fails"), about("", file)) == ""


@pytest.mark.parametrize(("version", "against"), [("9.1", False), ("9.10", True)])
def test_a_text_about_another_release(version: str, against: bool) -> None:
    reading = read_text(f"cannot open libcudnn_ops.so.{version}.2")
    assert bool(another_release(reading, about())) is against
    assert another_release(reading, about(seen=replace(m.wheel_machine(), cudnn=()))) == ""


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("Successfully opened dynamic library libcudnn.so.8", True),
        ("Successfully opened dynamic library libcudnn.so.9", False),
        ("Successfully opened dynamic library libcublas.so.11", False),
        ("Successfully opened dynamic library libcudnn.so", False),
        ("it fails", False),
    ],
)
def test_a_text_that_loaded_a_cudnn_which_is_not_here(text: str, against: bool) -> None:
    assert bool(another_copy(read_text(text), about())) is against
    assert another_copy(read_text(text), about(seen=replace(m.wheel_machine(), cudnn=None))) == ""


@pytest.mark.parametrize(
    ("cause", "text", "against"),
    [
        ("driver_module_not_loaded", 'os.environ["CUDA_VISIBLE_DEVICES"] = "7"', True),
        ("driver_module_not_loaded", "it fails", False),
        ("gpu_hidden_by_env", 'os.environ["CUDA_VISIBLE_DEVICES"] = "7"', False),
        ("cudnn_sublibrary_missing", 'os.environ["CUDA_VISIBLE_DEVICES"] = "7"', False),
    ],
)
def test_a_text_whose_program_hides_the_gpus_itself(cause: str, text: str, against: bool) -> None:
    assert bool(program_selects_gpus(read_text(text), about(cause))) is against


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("AMD Radeon RX 7900 XTX: torch.cuda.is_available() is False", True),
        ("AMD Radeon beside an NVIDIA GeForce RTX 3090", False),
        ("it fails", False),
    ],
)
def test_a_text_about_a_gpu_of_another_maker(text: str, against: bool) -> None:
    assert bool(another_maker(read_text(text), about())) is against
    assert another_maker(read_text(text), about("other_maker_gpu")) == ""
    assert another_maker(read_text(text), about(seen=replace(m.wheel_machine(), driver=None))) == ""
    assert another_maker(read_text(text), about(seen=m.no_gpu_machine())) == ""


@pytest.mark.parametrize(
    ("meaning", "mixed"),
    [("version mismatch", True), ("undefined symbol: cudnnFoo", True), ("file too short", False), ("", False)],
)
def test_parts_that_say_that_they_do_not_belong_together(meaning: str, mixed: bool) -> None:
    copy = m.cudnn()
    seen = m.with_load(m.wheel_machine(), roll_call=m.refused(copy, "ops", meaning))
    assert reports_mixed_releases(read_text("it fails"), about(seen=seen)) is mixed
    assert reports_mixed_releases(read_text("it fails"), about("mixed_cudnn_sublibraries", seen=seen))
    assert not reports_mixed_releases(read_text("it fails"), about(seen=replace(seen, loads=None)))


LOADING, MISMATCH = "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"
NO_SYMBOL = "Invalid handle. Cannot load symbol cudnnCreateConvolutionDescriptor"


@pytest.mark.parametrize(
    ("text", "result", "meaning", "output", "same"),
    [
        (LOADING, 1002, LOADING, "", True),
        (LOADING, 1002, LOADING, NO_SYMBOL, True),
        (LOADING, 1003, MISMATCH, "", False),
        (LOADING, 0, LOADING, "", False),
        (LOADING, None, "cannot open shared object file", "", False),
        ("CUDNN_STATUS_SUCCESS", 1002, "CUDNN_STATUS_SUCCESS", "", False),
        (NO_SYMBOL, None, "", NO_SYMBOL, True),
        (NO_SYMBOL, 1002, LOADING, NO_SYMBOL, True),
        (NO_SYMBOL, None, "", NO_SYMBOL.replace("Convolution", "Tensor"), False),
        (NO_SYMBOL, None, "", "", False),
    ],
)
def test_what_the_text_says_is_what_cudnns_parts_answer_or_print_here(
    text: str, result: int | None, meaning: str, output: str, same: bool
) -> None:
    seen = m.wheel_machine()
    load = (seen.loads or ())[0]
    assert load.roll_call is not None
    calls = (*load.roll_call.calls, Call(function="cudnnCreate", result=result, meaning=meaning))
    here = m.with_load(seen, roll_call=replace(load.roll_call, calls=calls, output=output))
    assert same_answer(read_text(text), about(seen=here)) is same
    assert same_answer(read_text(text), about(seen=replace(here, loads=None))) is False


def test_what_the_driver_answers_here() -> None:
    machine = m.wheel_machine()
    assert driver_marks(machine) == frozenset()
    assert driver_marks(replace(machine, driver=None)) == frozenset()
    for cuda in (None, CudaInit()):
        assert driver_marks(m.with_driver(machine, cuda=cuda)) == frozenset()
    assert driver_marks(m.with_driver(machine, cuda=CudaInit(status=999)))
    assert "no-driver-words" in driver_marks(m.no_gpu_machine())


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("import torch: torch.cuda.is_available() is False", False),
        ("tensorflow/stream_executor/cuda/cuda_dnn.cc: Could not load", True),
        ("it fails", False),
    ],
)
def test_a_text_of_another_framework(text: str, against: bool) -> None:
    mine = about(prefixes=(m.PREFIX,))
    assert bool(another_framework(read_text(text), mine)) is against
    assert another_framework(read_text(text), about()) == ""
    empty = replace(m.wheel_machine(), pythons=(m.python(distributions=()),))
    assert another_framework(read_text(text), about(seen=empty, prefixes=(m.PREFIX,))) == ""


@pytest.mark.parametrize(
    ("objection", "cause", "text", "against"),
    [
        (compiler_reports, "gpu_arch_too_new", "nvcc fatal : Unsupported gpu architecture 'compute_89'", True),
        (compiler_reports, "gpu_arch_too_new", "no kernel image is available for execution on the device", False),
        (driver_responds, "wsl_libcuda_not_found", "driver on your system is too old (found version 12080)", True),
        (driver_responds, "wsl_libcuda_not_found", "libcuda.so.1: cannot open shared object file", False),
        (
            inside_container,
            "uvm_stale_after_suspend",
            "Failed to initialize NVML: Unknown Error after systemctl daemon-reload",
            True,
        ),
        (inside_container, "uvm_stale_after_suspend", "Failed to initialize NVML: Unknown Error", False),
        (another_gpu, "gpu_arch_too_new", "no kernel image is available on the Tesla P100-PCIE-16GB", True),
    ],
)
def test_what_speaks_against_a_fault_of_the_driver_or_the_build(
    objection: Objection, cause: str, text: str, against: bool
) -> None:
    assert bool(objection(read_text(text), about(cause))) is against


def test_a_variable_of_nccl_that_names_no_interface_proves_a_failure_of_nccl() -> None:
    fault = replace_said(about("variable_value_wrong"), "NCCL_SOCKET_IFNAME", "'eth7'")
    text = "NCCL WARN Bootstrap : no socket interface found\ntorch.distributed.DistBackendError: NCCL error"
    assert find_mechanism(read_text(text), fault).is_proved
    assert not find_mechanism(read_text(text), replace_said(fault, "TF_GPU_ALLOCATOR")).by
    assert not find_mechanism(read_text("CUDA out of memory"), fault).by


def replace_said(fault: FaultFacts, *said: str) -> FaultFacts:
    """Return the fault with another evidence."""
    return dataclasses.replace(fault, said=said)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("/opt/x/libcudnn.so.9", ["libcudnn.so.9"]),
        (r"C:\x\cudnn64_9.dll", ["cudnn64_9.dll"]),
        ("cudnnCreate of libcudnn.so.9 failed", []),
        ("libcudnn.so.9", []),
        ("it wants libcudnn_cnn.so.9", ["libcudnn_cnn.so.9"]),
        ("it wants libcublas.so.12", ["libcublas.so.12"]),
    ],
)
def test_a_fault_is_about_cudnns_main_library_only_by_its_path(text: str, files: list[str]) -> None:
    its = fault_facts("cudnn_shadowed", m.wheel_machine(), (Evidence(label="Loaded", value=text),))
    assert [f.name for f in its.files] == files


def test_a_fault_is_about_the_part_that_did_not_open() -> None:
    seen = m.wheel_machine()
    copy = m.cudnn()
    for roll, files in (
        (m.refused(copy, "cnn", "file too short"), ["libcudnn_cnn.so.9"]),
        (replace(m.refused(copy, "cnn", "file too short"), loaded=""), []),
        (m.answers(copy), []),
    ):
        loaded = replace(seen, loads=(m.load(copy, m.PYTHON, roll_call=roll),))
        assert [f.name for f in fault_facts("corrupt_or_truncated_file", loaded, ()).files] == files


def test_an_engines_message_may_come_from_the_driver_of_its_host() -> None:
    text = read_text('docker: Error: could not select device driver "" with capabilities: [[gpu]].')
    dead = CudaInit(status=999, status_name="CUDA_ERROR_UNKNOWN", device_count=0)
    broken = m.with_driver(m.wheel_machine(), cuda=dead)
    assert driver_marks(broken)
    assert engines_message(text, about()) == "The message comes from a container engine."
    assert not engines_message(text, about(seen=broken))
    assert not engines_message(text, about(seen=m.container_machine()))


@pytest.mark.parametrize(
    ("text", "said", "asks"),
    [
        ("ImportError: /a/site-packages/x/_C.so: undefined symbol: _ZN5torch3abcE", ("_ZN5torch3abcE", "/a/site-packages/x/_C.so"), True),
        ("ImportError: /a/site-packages/x/_C.so: undefined symbol: _ZN5torch3abcE", ("_ZN5torch3abcE", "/a/site-packages/y/_D.so"), False),
        ("undefined symbol: _ZN5torch3abcE", ("_ZN5torch3abcE",), True),
        ("undefined symbol: _ZN5torch3abcE", ("_ZN5torch9otherE",), False),
    ],
)  # fmt: skip
def test_a_symbol_is_the_findings_where_the_text_blames_no_other_module(
    text: str, said: tuple[str, ...], asks: bool
) -> None:
    assert asks_in_vain(read_text(text), about(said=said)) is asks


@pytest.mark.parametrize(("resumed", "said"), [(0.0, True), (5.0, False), (None, False)])
def test_a_suspend_is_none_of_a_machine_that_has_not_slept(resumed: float | None, said: bool) -> None:
    text = read_text("CUDA error after resume from suspend")
    asleep = next(c for c, rows in CAUSED_COMPLAINTS.items() if "the driver's answer" in rows)
    seen = m.with_driver(m.wheel_machine(), resumed=resumed)
    assert "suspend" in text.marks
    assert bool(after_suspend(text, about(asleep, seen=seen))) is said
    assert not after_suspend(text, about(asleep, seen=replace(seen, driver=None)))


def test_a_text_of_the_other_system_is_told_but_under_wsl_both_are_at_home() -> None:
    text = read_text(r"Could not load library cudnn64_9.dll. Error code 126 C:\\x.dll")
    assert another_system(text, about())
    assert not another_system(text, about(seen=m.windows_machine()))
    assert not another_system(text, about(seen=m.wsl_machine()))


def test_a_message_from_wsl_is_not_of_linux_itself() -> None:
    text = read_text("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected (WSL2)")
    assert inside_wsl(text, about())
    assert not inside_wsl(text, about(seen=m.wsl_machine()))
    assert not inside_wsl(text, about(seen=m.windows_machine()))


def test_no_devices_were_found_is_said_by_a_driver_that_responds() -> None:
    assert driver_responds(read_text("nvidia-smi: No devices were found"), about("driver_module_not_loaded"))


def test_a_missing_zlib_is_a_missing_part_of_cudnn_8_alone() -> None:
    text = read_text("Could not locate zlibwapi.dll. Please make sure it is in your library path!")
    assert another_library(text, about("cudnn_sublibrary_missing", "cudnn_heuristic64_9.dll"))
    assert not another_library(text, about("cudnn_sublibrary_missing", "cudnn_ops_infer64_8.dll"))
    assert not another_library(text, about("zlibwapi_missing", "zlibwapi.dll"))
