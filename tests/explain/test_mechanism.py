"""What speaks against a text and a finding having to do with each other, as a table: machine, text, what is said."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.explain.mechanism.fault_facts import FaultFacts
from core.explain.mechanism.libraries import is_same_library
from core.explain.mechanism.objections import another_framework, another_gpu, another_library, another_release
from core.explain.reading import read_text
from core.knowledge.library_names import LibraryName, parse_library_name
from tests import machines as m


def about(cause: str = "", *files: str, **fields: object) -> FaultFacts:
    libraries = tuple(x for f in files if (x := parse_library_name(f)))
    return FaultFacts(cause, fields.pop("seen", m.wheel_machine()), files=libraries, **fields)  # type: ignore[arg-type]


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
