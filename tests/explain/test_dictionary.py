"""The dictionary: codes by name and number, file names, and what stands in a text."""

from __future__ import annotations

import pytest

from core.explain import explain
from core.explain.dictionary import look_up
from core.knowledge.library_names import parse_library_name

TERMS = {
    "126": ("ERROR_MOD_NOT_FOUND", "Windows error"),
    "WinError 1114": ("ERROR_DLL_INIT_FAILED", "Windows error"),
    "0xC000007B": ("STATUS_INVALID_IMAGE_FORMAT", "Windows status"),
    "-1073740791": ("STATUS_STACK_BUFFER_OVERRUN", "Windows status"),
    "35": ("cudaErrorInsufficientDriver", "CUDA runtime error"),
    "1002": ("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "cuDNN 9 status"),
    "cudnn_status_not_initialized": ("CUDNN_STATUS_NOT_INITIALIZED", "cuDNN 8 status"),
    "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED": ("CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", "cuDNN 9 status"),
    "CUDA_ERROR_NO_DEVICE": ("CUDA_ERROR_NO_DEVICE", "CUDA driver error"),
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": ("NVML_ERROR_LIB_RM_VERSION_MISMATCH", "NVML error"),
    "cudnn_ops64_9.dll": ("cudnn_ops64_9.dll", "file for Windows"),
    "/usr/lib/libcudnn_graph.so.9": ("libcudnn_graph.so.9", "file for Linux"),
    "libcuda.so.1": ("libcuda.so.1", "file for Linux"),
    "zlibwapi.dll": ("zlibwapi.dll", "file for Windows"),
}


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_explained(term: str) -> None:
    first = explain(term).codes[0]
    assert (first.term, first.family) == TERMS[term]
    assert first.meaning
    assert first.usually
    assert first.source


def test_a_status_has_the_numbers_of_both_majors() -> None:
    numbers = {c.number for c in explain("CUDNN_STATUS_NOT_INITIALIZED").codes if c.family.startswith("cuDNN")}
    assert numbers == {"1", "1001"}


def test_a_text_brings_the_meanings_of_its_codes() -> None:
    codes = explain("RuntimeError: CUDNN_STATUS_ALLOC_FAILED\nOSError: [WinError 126] c10.dll").codes
    assert {"CUDNN_STATUS_ALLOC_FAILED", "ERROR_MOD_NOT_FOUND"} <= {c.term for c in codes}


def test_a_harmless_message_is_called_so() -> None:
    text = "W tensorflow TF-TRT Warning: Could not find TensorRT\nUnable to register cuDNN factory"
    assert {c.family for c in explain(text).codes} >= {"harmless message"}


@pytest.mark.parametrize(
    ("name", "family", "major", "minor", "part"),
    [
        ("cudnn64_8.dll", "cudnn", 8, None, ""),
        ("cudnn_engines_precompiled64_9.dll", "cudnn", 9, None, "engines_precompiled"),
        ("libcudnn_ops_infer.so.8", "cudnn", 8, None, "ops_infer"),
        ("libcudnn.so.9.1.0", "cudnn", 9, 1, ""),
        ("cudart64_101.dll", "cudart", 10, 1, ""),
        ("cudart64_80.dll", "cudart", 8, 0, ""),
        ("cublas64_12.dll", "cublas", 12, None, ""),
        ("nvrtc64_112_0.dll", "nvrtc", 11, 2, ""),
        ("nvrtc-builtins64_121.dll", "nvrtc-builtins", 12, 1, ""),
        ("libcuda.so", "libcuda", None, None, ""),
        ("libcudart.so.11.0", "cudart", 11, 0, ""),
        ("vcruntime140_1.dll", "vcruntime", 1, None, ""),
    ],
)
def test_file_names(name: str, family: str, major: int | None, minor: int | None, part: str) -> None:
    found = parse_library_name(name)
    assert found is not None
    assert (found.family, found.major, found.minor, found.part) == (family, major, minor, part)


def test_other_files_are_none_of_ours() -> None:
    assert parse_library_name("kernel32.dll") is None
    assert parse_library_name("notes.txt") is None


@pytest.mark.parametrize(
    ("text", "is_term"),
    [
        ("cudnn64_8.dll", True),
        (r"C:\Program Files\NVIDIA\CUDNN\bin\cudnn64_8.dll", True),
        ("/usr/lib/x86_64-linux-gnu/libcudnn.so.8", True),
        (r"bin\cudnn64_8.dll", True),
        ("OSError: cannot load library /usr/lib/libcudnn.so.8", False),
        (r'Error loading "C:\venv\torch\lib\cudnn64_8.dll', False),
        (r"[WinError 127] in C:\venv\torch\lib\torch_cuda.dll", False),
    ],
)
def test_a_sentence_that_ends_with_a_file_is_no_term(text: str, is_term: bool) -> None:
    assert bool(look_up(text)) == is_term
