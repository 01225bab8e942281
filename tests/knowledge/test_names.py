"""What the number in a library's name says: alike to probes, rules, the loader and explanations."""

from __future__ import annotations

import pytest

from core.knowledge.cuda_file_names import cuda_major, library_family, numbers_in_name, toolkit_locations
from core.knowledge.library_names import parse_library_name
from core.loader import contents
from core.rules.cudnn import cuda_libraries


@pytest.mark.parametrize(
    ("name", "major", "minor"),
    [
        ("cudart64_65.dll", 6, 5),
        ("cudart64_80.dll", 8, 0),
        ("cudart64_92.dll", 9, 2),
        ("cudart64_101.dll", 10, 1),
        ("cublas64_11.dll", 11, None),
        ("cublas64_12.dll", 12, None),
        ("cublas64_14.dll", 14, None),
        ("libcudart.so.12", 12, None),
    ],
)
def test_the_cuda_in_a_name(name: str, major: int, minor: int | None) -> None:
    """The toolkit's probe took cudart64_80.dll for CUDA 80."""
    system = "windows" if name.endswith(".dll") else "linux"
    known = toolkit_locations()
    family = library_family(name, system, known)
    explained = parse_library_name(name)
    ruled = cuda_libraries.family_and_major(name)
    assert family is not None
    assert explained is not None
    assert ruled is not None
    assert cuda_major(family, numbers_in_name(name, system), known) == major
    assert contents.cuda_major((name,)) == major
    assert (explained.major, explained.minor) == (major, minor)
    assert ruled[1] == major
