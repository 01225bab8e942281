"""The knowledge files of the rules: typed, each row with its source, and the vocabulary of causes complete."""

from __future__ import annotations

import ast
import json
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

import core.rules
import resources
from core.common.versions import is_older as older
from core.common.versions import version_tuple, versions_differ
from core.knowledge.causes import cause_rows
from core.knowledge.cudnn import releases_for
from core.knowledge.releases import Compatibility, Frozen, Gpus, Hints, Releases, compatibility_table, driver_floor
from core.knowledge.tables import read_table

FORMS: dict[str, type[Frozen]] = {
    "compatibility": Compatibility,
    "gpus": Gpus,
    "releases": Releases,
    "hints": Hints,
}
RULES = sorted(Path(core.rules.__file__).parent.rglob("*.py"))
CAUSES: set[str] = {c.cause for c in cause_rows()}


@pytest.mark.parametrize("name", FORMS)
def test_every_row_names_its_source(name: str) -> None:
    tables = read_table(name, FORMS[name])
    rows = [row for field in tables.__struct_fields__ if field != "known_until" for row in getattr(tables, field)]
    assert rows
    assert [row for row in rows if len(row.source) < 8] == []


def words(path: Path) -> set[str]:
    """Return the causes that a module of rules gives: texts of the form of a cause."""
    tree = ast.parse(path.read_text())
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    named = {
        k.value.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Call)
        for k in n.keywords
        if k.arg == "cause" and isinstance(k.value, ast.Constant) and k.value.value
    }
    return named | (texts & CAUSES)


REQUIRED = [
    "zlibwapi_missing",
    "cudnn_not_on_search_path",
    "cudnn_not_installed",
    "cudnn_sublibrary_missing",
    "cudnn_major_mismatch",
    "cudnn_cuda_major_mismatch",
    "cudnn_shadowed",
    "ld_library_path_override",
    "mixed_cudnn_sublibraries",
    "cuda_not_on_search_path",
    "cuda_runtime_missing",
    "cuda_lib_shadowed",
    "cuda_path_env_wrong",
    "nvrtc_missing_or_mismatch",
    "libcuda_wrong_library",
    "dll_wrong_architecture",
    "corrupt_or_truncated_file",
    "install_path_characters",
    "driver_too_old",
    "driver_library_mismatch",
    "driver_module_not_loaded",
    "secure_boot_blocks_module",
    "uvm_stale_after_suspend",
    "device_node_permission",
    "container_no_gpu_runtime",
    "wsl_libcuda_not_found",
    "gpu_hidden_by_env",
    "gpu_arch_too_new",
    "gpu_arch_too_old",
    "nv_compute_cache_bad",
    "no_nvidia_gpu",
    "library_unreadable",
    "cudnn_minor_too_old",
    "upstream_packaging_bug",
]


def test_every_cause_that_can_be_seen_without_a_framework_has_a_rule() -> None:
    given = set().union(*(words(path) for path in RULES))
    assert set(REQUIRED) - given == set()


@pytest.mark.parametrize(
    ("cuda", "system", "floor"),
    [
        ("12.4", "linux", "525.60.13"),
        ("12.9.1", "windows", "527.41"),
        ("13.0", "linux", "580"),
        ("11.2", "linux", "450.80.02"),
        ("10.2", "linux", "440.33"),
        ("10.2", "windows", "441.22"),
        ("14.0", "linux", ""),
        ("", "linux", ""),
    ],
)
def test_oldest_driver(cuda: str, system: str, floor: str) -> None:
    assert driver_floor(compatibility_table(), cuda, system)[0] == floor


def test_a_driver_row_that_was_not_verified_is_never_used() -> None:
    known = compatibility_table()
    doubted = replace(known, drivers=tuple(replace(r, verified=False) for r in known.drivers))
    assert driver_floor(known, "10.2", "linux")[0] == "440.33"
    assert driver_floor(doubted, "10.2", "linux") == ("", "")


TABLES = ("compatibility", "cudnn", "frameworks", "gpus", "gpu_rates", "releases", "hints", "kernel_log", "steps")
"""Knowledge about releases, devices and what they answer, which grows old."""


@pytest.mark.parametrize("name", TABLES)
def test_every_table_that_grows_old_says_until_when_it_knows(name: str) -> None:
    known = json.loads((Path(resources.__path__[0]) / "knowledge" / f"{name}.json").read_bytes())
    assert date.fromisoformat(known["known_until"]) >= date(2026, 10, 28)


@pytest.mark.parametrize("name", ["compatibility", "cudnn", "frameworks"])
def test_a_table_about_files_says_for_which_processors(name: str) -> None:
    known = json.loads((Path(resources.__path__[0]) / "knowledge" / f"{name}.json").read_bytes())
    listed = {p for r in (*known.get("cudnn", ()), *known.get("torch_code", ())) if (p := r.get("processor"))}
    listed |= {p for r in known.get("torch", ()) for p in r.get("processors", ())}
    assert {"x86_64", *listed} <= set(known["processors"])


@pytest.mark.parametrize(
    ("one", "two", "is_older", "is_other"),
    [
        ("9.1", "9.1.0", False, False),
        ("9.1.0", "9.10.2", True, True),
        ("9.10.2", "9.1.0.70", False, True),
        (None, "9.1.0", None, None),
        ("nonsense", "9.1.0", None, None),
    ],
)
def test_versions_compare_as_far_as_both_go(
    one: str | None, two: str, is_older: bool | None, is_other: bool | None
) -> None:
    assert older(one, two) is is_older
    assert versions_differ(one, two) is is_other


def test_hostile_versions_have_bounded_numbers() -> None:
    assert version_tuple("9" * 5000 + ".1") == ()


@pytest.mark.parametrize(
    ("distribution", "cuda", "cudnn", "wanted"),
    [
        ("onnxruntime-gpu", "12", "9", "onnxruntime-gpu>=1.19,<1.27"),
        ("onnxruntime-gpu", "13", "9", "onnxruntime-gpu>=1.27,<1.32"),
        ("onnxruntime-gpu", "12", "8", ""),
        ("onnxruntime-gpu", "12", "", ""),
        ("onnxruntime-gpu", "11", "8", "onnxruntime-gpu>=1.11,<1.19"),
        ("ctranslate2", "12", "9", "ctranslate2>=4.5,<4.9"),
        ("ctranslate2", "12", "8", "ctranslate2>=4.6.3,<4.9"),
        ("ctranslate2", "12", "", "ctranslate2>=4.6.3,<4.9"),
        ("ctranslate2", "13", "9", ""),
        ("torch", "12", "9", ""),
    ],
)
def test_which_releases_fit_the_libraries_that_are_there(distribution: str, cuda: str, cudnn: str, wanted: str) -> None:
    assert releases_for(distribution, cuda, cudnn) == wanted
