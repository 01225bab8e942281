"""What published wheels hold, for both processors and Windows, beside what the tables say of them.

``wheels.json`` was made by ``python -m installer.generate.wheels`` from files that pip had fetched.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from core.common.versions import version_tuple
from core.knowledge.cudnn_file_names import parse_cudnn_name
from core.knowledge.horizon import DISTRIBUTION_FAMILIES, is_beyond_horizon
from core.knowledge.library_names import parse_library_name
from core.knowledge.tables import read_table

WHEELS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("wheels.json").read_text(encoding="utf-8"))["wheels"]
BY_NAME = {w["source"]: w for w in WHEELS}
PROCESSORS = {"linux": ["x86_64"], "linux-aarch64": ["aarch64"], "windows": ["x86_64"]}
ELSEWHERE = {
    # what a row names and another distribution, or another index, brings
    "onnxruntime-gpu": {"linux": "tensorrt_libs"},
    "torch": {"windows": "torch_cuda"},
    "jax-cuda12-plugin": {"linux": "jax_plugins", "linux-aarch64": "jax_plugins"},
    "jax-cuda13-plugin": {"linux": "jax_plugins", "linux-aarch64": "jax_plugins"},
}


def named_files(table: str, wheel: dict[str, Any]) -> list[str]:
    """Return the files that a table names of a wheel's package."""
    system = "windows" if wheel["system"] == "windows" else "linux"
    rows = next((r for r in _frameworks(table) if re.fullmatch(r["distribution"], wheel["package"])), {})
    mine = [
        row for row in rows.get(system, ()) if isinstance(row, str) or not (row.get("of_others") or row.get("beside"))
    ]
    files = [row if isinstance(row, str) else row["file"] for row in mine]
    return [f for f in files if not f.startswith("nvidia/") and "{cuda}" not in f]


def _frameworks(table: str) -> list[dict[str, Any]]:
    return read_table(table, dict[str, Any])["frameworks"]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_wheel_holds_libraries_for_its_own_processor_alone(name: str) -> None:
    wheel = BY_NAME[name]
    assert wheel["processors"] == PROCESSORS[wheel["system"]]


@pytest.mark.parametrize("table", ["gpu_binaries", "cudnn"])
@pytest.mark.parametrize("name", BY_NAME)
def test_a_file_that_a_table_names_is_in_the_wheel(name: str, table: str) -> None:
    wheel = BY_NAME[name]
    away = ELSEWHERE.get(wheel["package"], {}).get(wheel["system"], "\0")
    lost = [f for f in named_files(table, wheel) if not any(fnmatch(n, f) for n in wheel["libraries"])]
    assert [f for f in lost if away not in f] == []


@pytest.mark.parametrize("name", BY_NAME)
def test_a_name_that_a_wheel_needs_is_known(name: str) -> None:
    assert [n for n in BY_NAME[name]["needs"] if parse_library_name(n.lower()) is None] == []


@pytest.mark.parametrize("name", BY_NAME)
def test_the_newest_release_is_no_stranger(name: str) -> None:
    wheel = BY_NAME[name]
    family = next((f for pattern, f in DISTRIBUTION_FAMILIES if re.fullmatch(pattern, wheel["package"])), None)
    assert family is None or not is_beyond_horizon(family, wheel["version"])


def test_both_processors_and_windows_were_read() -> None:
    assert {s: sum(w["system"] == s for w in WHEELS) >= 10 for s in PROCESSORS} == dict.fromkeys(PROCESSORS, True)


def test_torch_asks_for_the_cuda_of_its_row() -> None:
    asked = {
        (w["version"], m[1])
        for w in WHEELS
        if w["package"] == "torch"
        for r in w["requires"]
        if (m := re.match(r"cuda-toolkit\[.*\]==(\d+\.\d+)", r))
    }
    rows = {(r["torch"], r["cuda"]) for r in read_table("frameworks", dict[str, Any])["torch"]}
    assert asked
    assert {(".".join(version.split(".")[:2]), cuda) for version, cuda in asked} <= rows


def test_what_a_framework_opens_is_of_the_cuda_that_its_wheel_needs() -> None:
    torch = next(r for r in _frameworks("gpu_binaries") if r["distribution"].startswith("torch"))
    for wheel in (w for w in WHEELS if w["package"] == "torch" and w["system"] != "windows"):
        major = next(m[1] for n in wheel["needs"] if (m := re.fullmatch(r"libcudart\.so\.(\d+)", n)))
        assert set(torch["opens"][0]["names"][major]) <= set(wheel["needs"])


def test_cudnn_has_the_same_parts_for_every_processor() -> None:
    parts = {
        w["system"]: {its.role for n in w["libraries"] if (its := parse_cudnn_name(n.rpartition("/")[2]))}
        for w in WHEELS
        if w["package"].startswith("nvidia-cudnn")
    }
    assert len(parts) == 3
    assert parts["linux"] == parts["linux-aarch64"] >= {"", "graph", "ops", "cnn", "adv"}
    assert parts["windows"] <= parts["linux"]


def test_ctranslate2_brings_no_more_of_cudnn_than_its_main_library() -> None:
    for wheel in (w for w in WHEELS if w["package"] == "ctranslate2"):
        brought = [n.rpartition("/")[2] for n in wheel["libraries"] if "cudnn" in n]
        assert brought == (["cudnn64_9.dll"] if wheel["system"] == "windows" else [])
        assert version_tuple(wheel["version"]) >= (4, 8)
