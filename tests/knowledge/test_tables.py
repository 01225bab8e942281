"""The tables are what the wheels say, and one command takes a new release in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.common.versions import version_tuple
from installer.generate import needs, nvidia_rows
from installer.generate.framework_rows import updated
from installer.generate.rows import changes, minor
from installer.generate.tables import RELEASES, TABLES, UPDATES

WHEELS: list[dict[str, Any]] = json.loads(RELEASES.read_text(encoding="utf-8"))["wheels"]
CODE: list[dict[str, Any]] = json.loads(Path(__file__).with_name("code.json").read_text(encoding="utf-8"))["wheels"]
TEXT = (TABLES / "frameworks.json").read_text(encoding="utf-8")
ROWS: dict[str, Any] = json.loads(TEXT)


def wheel(package: str, version: str, *requires: str, **more: Any) -> dict[str, Any]:
    """Return what would be read of a wheel for Linux."""
    its = {"pythons": ["cp312", "cp313"], "source": f"{package}-{version}.whl", "uploaded": "2027-02-01"}
    return its | {"package": package, "version": version, "system": "linux", "requires": list(requires)} | more


@pytest.mark.parametrize("name", UPDATES)
def test_the_tables_are_what_the_wheels_say(name: str) -> None:
    text = (TABLES / f"{name}.json").read_text(encoding="utf-8")
    assert UPDATES[name](text, WHEELS) == (text, [])


@pytest.mark.parametrize("name", UPDATES)
def test_a_table_knows_until_the_newest_of_its_wheels(name: str) -> None:
    text = (TABLES / f"{name}.json").read_text(encoding="utf-8")
    later = [row | {"uploaded": "2031-01-01"} for row in WHEELS]
    assert json.loads(text)["known_until"] in {row["uploaded"] for row in WHEELS}
    assert json.loads(UPDATES[name](text, later)[0])["known_until"] == "2031-01-01"


# --- which cuDNN and which CUDA a framework needs ---------------------------------------------------------------------------


def asks(version: str, *requires: str, **more: Any) -> dict[str, Any]:
    """Return what is read of a framework's wheel."""
    return wheel("onnxruntime-gpu", version, *requires, **more)


OLD = [{"from": "1.5", "major": 8}, {"from": "1.19", "major": 9}]
EIGHT, NINE, TEN = ("nvidia-cudnn-cu12>=8.9", "nvidia-cudnn-cu12<10,>=9.8", "nvidia-cudnn-cu14~=10.0; extra == 'x'")


def majors(*read: dict[str, Any]) -> list[tuple[str, int, bool]]:
    """Return since when which cuDNN is needed, and whether a wheel is named as the source."""
    return [(r["from"], r["major"], "source" in r) for r in changes(read, needs.cudnn_major, OLD)]


def test_a_change_begins_with_its_minor_release_or_with_its_patch() -> None:
    assert majors(asks("1.2.0", EIGHT), asks("1.3.0", NINE), asks("1.3.1", TEN)) == [
        ("1.2", 8, True),
        ("1.3", 9, True),
        ("1.3.1", 10, True),
    ]


def test_between_wheels_that_do_not_tell_the_table_keeps_its_own_source() -> None:
    told = majors(asks("1.15.0", EIGHT), asks("1.16.0"), asks("1.21.0", NINE), asks("1.40.0", TEN))
    assert told == [("1.5", 8, False), ("1.19", 9, False), ("1.40", 10, True)]


def test_a_wheel_that_contradicts_moves_the_change() -> None:
    told = majors(asks("1.15.0", EIGHT), asks("1.20.0", EIGHT), asks("1.21.0", NINE))
    assert told == [("1.5", 8, False), ("1.21", 9, True)]


@pytest.mark.parametrize(
    ("read", "cudnn", "cuda"),
    [
        (asks("1.0"), None, None),
        (asks("1.0", "nvidia-cuda-runtime-cu12 >=12.1.105 ; extra == 'with_cuda'"), None, 12),
        (asks("1.0", cuda=["13.0"]), None, 13),
        (asks("1.0", preloads=["libcudnn.so.8", "libcudart.so.11.0"]), 8, 11),
        (asks("1.0", needs=["libcudnn.so.9", "libcublas.so.12"]), 9, 12),
        (asks("1.0", opens=["cublas64_12.dll"], code={"a.dll": {}}, large=[]), 0, 12),
        (asks("1.0", opens=["cublas64_12.dll"], code={"a.dll": {}}, large=["b.dll"]), None, 12),
        (asks("1.0", needs=["libcublas.so.11", "libcublas.so.12"]), None, None),
    ],
)
def test_what_a_wheel_tells(read: dict[str, Any], cudnn: int | None, cuda: int | None) -> None:
    assert (needs.cudnn_major(read), needs.cuda_major(read)) == (cudnn, cuda)


def test_the_newest_cuda_ends_with_the_release_after_the_newest() -> None:
    spans = needs.cuda_spans([asks("1.9.0", cuda=["12.8"]), asks("1.10.0", cuda=["13.0"])], [])
    assert [(s["from"], s["below"], s["major"]) for s in spans] == [("1.9", "1.10", 12), ("1.10", "1.11", 13)]


# --- NVIDIA's own wheels ----------------------------------------------------------------------------------------------------


def test_a_cudnn_runs_where_all_its_libraries_have_code() -> None:
    code = {
        "x/libcudnn_ops.so.9": {"sass": [75, 80, 90]},
        "x/libcudnn_cnn.so.9": {"sass": [80, 90]},
        "x/n": {"sass": []},
    }
    its = wheel("nvidia-cudnn-cu13", "9.99.0.1", code=code) | {"system": "linux-aarch64"}
    (row,) = nvidia_rows.cudnn_code_rows([its])
    assert (row["sass"], row["cuda_major"], row["system"], row["processor"]) == ([80, 90], 13, "linux", "aarch64")
    assert "libcudnn_cnn.so.9, libcudnn_ops.so.9 of the wheel nvidia-cudnn-cu13-9.99.0.1.whl" in row["source"]


def test_code_that_contradicts_a_whole_reading_is_told_and_left() -> None:
    old = {"version": "9.1", "cuda_major": 12, "system": "linux", "sass": [70, 80], "source": "the whole wheel"}
    assert nvidia_rows.merged_code([old], [old | {"sass": [70, 80, 90], "source": "a part"}]) == ([old], [])
    rows, against = nvidia_rows.merged_code([old], [old | {"sass": [80], "source": "a part"}])
    assert rows == [old]
    assert len(against) == 1


def test_clang_is_one_less_than_the_header_refuses() -> None:
    its = wheel("nvidia-cuda-crt", "14.1.7", gcc=["17"], clang=["25"])
    (row,) = nvidia_rows.host_compiler_rows([its])
    assert (row["cuda"], row["gcc"], row["clang"]) == ("14.1", 17, 24)


def test_the_libraries_of_one_cuda() -> None:
    requires = ("nvidia-cublas-cu12==12.9.2.10.*", "nvidia-nvjitlink-cu12<13,>=12.9.86", "nvidia-cublas==13.1.*")
    (row,) = nvidia_rows.cuda_release_rows([wheel("cuda-toolkit", "12.9.2.0", *requires) | {"system": "any"}])
    assert (row["cuda"], row["packages"]) == ("12.9", {"cublas": "12.9.2.10", "nvjitlink": "12.9.86"})


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


def test_a_cuda_whose_gpus_nobody_asked_for_is_told() -> None:
    its = [wheel("nvidia-cuda-nvrtc", "14.2.9"), wheel("nvidia-cuda-nvrtc", "14.1.1")]
    assert [line.split(": ")[1] for line in nvidia_rows.untold_toolkits([{"cuda": "14.1"}], its)] == [
        "no row for CUDA 14.2"
    ]
