"""CTranslate2 asks for cuBLAS by its bare name: where that leads, and what is told where it leads nowhere."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import Snapshot, Toolkit
from core.rules.frameworks.ctranslate2 import cublas_by_name
from core.rules.frameworks.grid import make_grid
from tests import machines as m
from tests.rules.test_frameworks_verdicts import LINUX, ON_WINDOWS, build, machine

WHEEL = m.toolkit(m.CUBLAS, {"libcublas.so.12": "12.8.4.1", "libcublasLt.so.12": "12.8.4.1"})
C11 = m.toolkit("/usr/local/cuda-11.8", {"libcublas.so.11": "11.11.3.6"}, named_by=("ld.so.cache",))
CT2 = build("ctranslate2", "4.8.5", "12")
DLL = m.toolkit(m.TOOLKIT + r"\bin", {"cublas64_12.dll": "12.9.0.1"}, system="windows", origin="installer")


def on(*toolkits: Toolkit, base: Snapshot = LINUX, builds: tuple = (CT2,), **python: object) -> Snapshot:
    return replace(machine(*builds, base=base, **python), toolkits=toolkits)


TABLE = [
    ("nowhere", on(), "cuda_runtime_missing", "error"),
    ("of another major only", on(C11), "cuda_runtime_missing", "error"),
    ("in the environment's wheel", on(WHEEL), "cuda_not_on_search_path", "error"),
    ("in a wheel that LD_LIBRARY_PATH names", on(replace(WHEEL, named_by=("LD_LIBRARY_PATH",))), "", ""),
    ("in a wheel that LD_LIBRARY_PATH names in one way of starting", m.with_variable(on(WHEEL), "LD_LIBRARY_PATH", f"/x:{m.CUBLAS}"), "", ""),
    ("in a folder below one that LD_LIBRARY_PATH names", m.with_variable(on(WHEEL), "LD_LIBRARY_PATH", m.SITE), "cuda_not_on_search_path", "error"),
    ("in ld.so's cache", on(WHEEL, replace(WHEEL, root="/opt/cuda", folder="/opt/cuda/lib64", named_by=("ld.so.cache",))), "", ""),
    ("in a default folder", on(replace(WHEEL, root="/usr", folder="/usr/lib/x86_64-linux-gnu")), "", ""),
    ("with torch beside it", on(WHEEL, builds=(CT2, build())), "cuda_not_on_search_path", "unknown"),
    ("in conda's environment", on(WHEEL, kind="conda"), "", ""),
    ("a build without CUDA", on(builds=(build("ctranslate2", "4.8.5", ""),)), "", ""),
    ("toolkits not looked for", replace(on(), toolkits=None), "", ""),
    ("no GPU", on(base=m.no_gpu_machine()), "", ""),
    ("Windows, on PATH", on(replace(DLL, named_by=("PATH",)), base=ON_WINDOWS), "", ""),
    ("Windows, not on PATH", on(DLL, base=ON_WINDOWS), "cuda_not_on_search_path", "error"),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "cause", "severity"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_where_the_bare_name_leads(seen: Snapshot, cause: str, severity: str) -> None:
    assert [(f.cause, f.severity.word) for f in cublas_by_name(seen)] == ([(cause, severity)] if cause else [])


def test_the_cure_names_the_wheels_own_folder() -> None:
    (found,) = cublas_by_name(on(WHEEL))
    assert found.fix is not None
    assert f"export LD_LIBRARY_PATH={m.CUBLAS}" in found.fix.advice


def test_without_any_the_package_comes_first() -> None:
    (found,) = cublas_by_name(on())
    assert found.fix is not None
    assert found.fix.advice.startswith(f"{m.PREFIX}/bin/python -m pip install nvidia-cublas-cu12\n")
    assert f"export LD_LIBRARY_PATH={m.CUBLAS}" in found.fix.advice


def test_the_cell_follows() -> None:
    seen = on(WHEEL)
    assert [c.verdict for c in make_grid(seen, tuple(cublas_by_name(seen))).rows[0].cells] == ["cannot run"]
