"""A cuDNN that wants zlibwapi.dll: a newer one of the same major is fetched for it, for the CUDA that it was built for."""

from __future__ import annotations

import pytest

from core.doctor.offers import takes_cudnn
from core.fixes.packages.fetch import copy_of_consumer, cudnn_requirement
from core.model.facts import CudnnCopy
from core.model.findings import Finding
from core.rules.root_cause import diagnose
from tests.rules.test_loading import NO_ZLIB, zlib


def told(version: str) -> Finding | None:
    return next((f for f in diagnose(zlib(version, NO_ZLIB)) if f.cause == "zlibwapi_missing"), None)


@pytest.mark.parametrize("version", ["8.3.2", "8.9.3"])
def test_a_release_without_that_wish_is_needed(version: str) -> None:
    seen, finding = zlib(version, NO_ZLIB), told(version)
    assert finding is not None
    assert takes_cudnn(finding)
    copy = copy_of_consumer(finding, seen)
    assert isinstance(copy, CudnnCopy)
    assert copy.folder == r"C:\tools\cuda\bin"
    assert cudnn_requirement(finding, seen) == f"nvidia-cudnn-cu{copy.cuda_major}>=8.9.4,<9"


def test_a_newer_release_never_wants_it() -> None:
    assert told("8.9.4") is None
