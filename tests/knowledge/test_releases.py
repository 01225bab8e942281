"""What the tables say of releases, beside what the wheels of each release say: ``releases.json``, read from an index in pieces.

``python -m installer.generate.wheels PACKAGE... --out tests/knowledge/releases.json`` writes it again and says what changed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from core.common.versions import version_tuple
from core.knowledge.tables import read_table

ROWS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("releases.json").read_text(encoding="utf-8"))["wheels"]
TORCH = [r for r in ROWS if r["package"] == "torch" and r["system"] == "linux"]
PYTHON_PART = "torch/lib/libtorch_python.so"
"""Where PyTorch keeps its answer to torch.cuda.get_arch_list()."""
TABLE: dict[str, Any] = read_table("frameworks", dict[str, Any])


def minor(version: str) -> str:
    """Return the first two numbers of a release."""
    return ".".join(version.split(".")[:2])


def test_every_row_says_which_wheel_it_is_from() -> None:
    assert len(ROWS) > 150
    assert [r for r in ROWS if not (r["source"].endswith(".whl") and len(r["sha256"]) == 64 and r["pythons"])] == []


@pytest.mark.parametrize("wheel", TORCH, ids=lambda w: w["version"])
def test_torch_is_for_the_pythons_that_its_wheels_are_for(wheel: dict[str, Any]) -> None:
    pythons = [int(tag.removeprefix("cp3")) for tag in wheel["pythons"]]
    rows = {r["python"] for r in TABLE["torch"] if r["torch"] == minor(wheel["version"])}
    assert rows
    for text in rows:
        first, last = (int(n) for n in re.findall(r"3\.(\d+)", text))
        # PyTorch's own index has wheels for a Python that is still to come
        assert (first, max(pythons)) == (min(pythons), last) or ("exp" in text and max(pythons) <= last)


@pytest.mark.parametrize("wheel", TORCH, ids=lambda w: w["version"])
def test_torch_asks_for_the_cuda_of_one_of_its_rows(wheel: dict[str, Any]) -> None:
    form = re.compile(r"(?:cuda-toolkit\[.*\]|nvidia-cuda-runtime-cu1\d) ?\(?==(\d+\.\d+)")
    asked = {m[1] for r in wheel["requires"] if (m := form.match(r))}
    assert asked <= {r["cuda"] for r in TABLE["torch"] if r["torch"] == minor(wheel["version"])}
    assert len(asked) == 1


@pytest.mark.parametrize(
    "wheel", [w for w in TORCH if PYTHON_PART in w.get("built_for", {})], ids=lambda w: w["version"]
)
def test_torch_has_the_machine_code_that_its_row_says(wheel: dict[str, Any]) -> None:
    built = {int(n) for word in wheel["built_for"][PYTHON_PART] if (n := word.removeprefix("sm_")).isdigit()}
    cuda = next(m[1] for r in wheel["requires"] if (m := re.search(r"cuda-toolkit\[.*\]==(\d+\.\d+)", r)))
    rows = [
        set(r["sass"])
        for r in TABLE["torch_code"]
        if r["cuda"] == cuda
        and r["system"] == "linux"
        and version_tuple(r["from"]) <= version_tuple(minor(wheel["version"])) <= version_tuple(r["to"])
    ]
    assert built in rows
