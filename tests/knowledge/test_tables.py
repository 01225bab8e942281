"""The tables of frameworks are what the wheels say, and one command takes a new release in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.common.versions import version_tuple
from installer.generate.tables import RELEASES, TABLE, minor, updated

WHEELS: list[dict[str, Any]] = json.loads(RELEASES.read_text(encoding="utf-8"))["wheels"]
CODE: list[dict[str, Any]] = json.loads(Path(__file__).with_name("code.json").read_text(encoding="utf-8"))["wheels"]
TEXT = TABLE.read_text(encoding="utf-8")
ROWS: dict[str, Any] = json.loads(TEXT)


def test_the_tables_are_what_the_wheels_say() -> None:
    assert updated(TEXT, WHEELS) == (TEXT, [])


def wheel(package: str, version: str, *requires: str, **more: Any) -> dict[str, Any]:
    """Return what would be read of a wheel for Linux."""
    its = {"pythons": ["cp312", "cp313"], "source": f"{package}-{version}.whl", "uploaded": "2027-02-01"}
    return its | {"package": package, "version": version, "system": "linux", "requires": list(requires)} | more


NEW_TORCH = wheel(
    "torch",
    "9.1.0",
    'cuda-toolkit[cublas]==14.1.2; platform_system == "Linux"',
    built_for={"torch/lib/libtorch_python.so": ["sm_90", "sm_130", "sm_130a", "compute_130"]},
)


def test_a_new_release_is_a_row_of_each_section_with_its_wheel_as_source() -> None:
    vision = wheel("torchvision", "0.99.1", "torch (==9.1.0)")
    text, said = updated(TEXT, [*WHEELS, NEW_TORCH, vision])
    new = json.loads(text)
    assert new["torch"][0] | {"source": ""} == {
        "torch": "9.1",
        "cuda": "14.1",
        "python": ">=3.12, <=3.13",
        "stable": True,
        "source": "",
        "verified": True,
    }
    assert "torch-9.1.0.whl" in new["torch"][0]["source"]
    assert [r["sass"] for r in new["torch_code"] if r["from"] == "9.1"] == [[90, 130]]
    assert new["companions"][-1]["torchvision"] == "0.99"
    assert [line[0] for line in said] == ["+", "+", "+"]
    assert len(new["torch"]) == len(ROWS["torch"]) + 1


def test_what_a_wheel_contradicts_is_rewritten_and_told() -> None:
    old = ROWS["torch"][1]
    its = wheel("torch", f"{old['torch']}.9", f"cuda-toolkit[cublas]=={old['cuda']}.1", pythons=["cp37"])
    text, said = updated(TEXT, [its])
    assert json.loads(text)["torch"][1]["python"] == ">=3.7, <=3.7"
    assert [line.split()[0] for line in said] == ["-", "+"]


def test_contradicted_machine_code_is_told_and_left() -> None:
    row = next(r for r in ROWS["torch_code"] if r["system"] == "linux")
    its = NEW_TORCH | {"version": f"{row['to']}.0", "requires": [f"cuda-toolkit[cublas]=={row['cuda']}.1"]}
    text, said = updated(TEXT, [its])
    assert json.loads(text)["torch_code"] == ROWS["torch_code"]
    assert [line for line in said if line.startswith("!")]


def test_a_build_that_the_index_does_not_have_stays() -> None:
    kept = [r for r in ROWS["torch"] if "RELEASE.md" in r["source"]]
    assert [r for r in kept if r in json.loads(updated(TEXT, [*WHEELS, NEW_TORCH])[0])["torch"]] == kept


@pytest.mark.parametrize("read", [r for r in CODE if r["package"] == "torch"], ids=lambda r: r["version"])
def test_torch_has_the_machine_code_of_its_row(read: dict[str, Any]) -> None:
    cuda = next(
        minor(r.partition("==")[2])
        for w in WHEELS
        if (w["package"], w["version"], w["system"]) == ("torch", read["version"], "linux")
        for r in [q.replace("(", "").replace(")", "").replace(" ", "") for q in w["requires"]]
        if r.startswith("nvidia-cuda-runtime")
    )
    its = version_tuple(minor(read["version"]))
    rows = [
        r
        for r in ROWS["torch_code"]
        if (r["cuda"], r["system"], r.get("processor", "x86_64")) == (cuda, "linux", "x86_64")
        and version_tuple(r["from"]) <= its <= version_tuple(r["to"])
    ]
    main = read["code"]["torch/lib/libtorch_cuda.so"]
    assert rows
    # a few kernels are compiled for further processors
    assert [r for r in rows if not set(r["sass"]) <= set(main["sass"]) or r["ptx"] != main["ptx"]] == []


@pytest.mark.parametrize(
    ("package", "part"),
    [
        ("torch", "libtorch_cuda.so"),
        ("nvidia-cudnn-cu12", "libcudnn_engines_precompiled.so.9"),
        ("nvidia-cublas-cu12", "libcublasLt.so.12"),
        ("jax-cuda12-pjrt", "xla_cuda_plugin.so"),
    ],
)
def test_the_large_libraries_were_read(package: str, part: str) -> None:
    found = [c for r in CODE if r["package"] == package for n, c in r["code"].items() if n.endswith("/" + part)]
    assert found
    assert all(len(c["sass"]) > 5 for c in found)
    assert any(c["bound"] for r in CODE for c in r["code"].values())
