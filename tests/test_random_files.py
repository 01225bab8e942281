"""The tool that harms files at random: what counts as named, and what its harms do to a file. It is run by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worldlab.random_files import HARMS, Draw, Program, Told, is_about, totals, with_zeros
from tests.worldlab.scene import World, runs

PREFIX = Path("/lab/torch-2.8/env")


def draw(path: str = "odd/core.py", harm: str = "file lost", name: str = "odd-parts") -> Draw:
    return Draw(0, "torch-2.8", Program("odd", runs("")), False, harm, path, (name, "1.0"))


@pytest.mark.parametrize(
    ("title", "path", "harm", "about"),
    [
        ("odd-parts 1.0 in {prefix} cannot be imported: the file of odd.core is empty.", "odd/core.py", "emptied", True),
        ("Missing in {prefix}: core.py of other 1.0.", "odd/core.py", "file lost", True),
        ("other 1.0 in {prefix} does not find libcublas.so.12.", "odd/core.py", "file lost", False),
        ("torch 2.8.0 in {prefix} is the build without CUDA.", "torch/_C.so", "closed", True),
        ("Missing in {prefix}: {prefix}/nvidia/cublas/lib/libcublas.so.12", "nvidia/cublas/__init__.py", "package's folder lost", True),
        ("Missing in {prefix}: {prefix}/nvidia/cublas/lib/libcublas.so.12", "nvidia/cublas/__init__.py", "file lost", False),
    ],
)  # fmt: skip
def test_a_finding_is_about_the_harmed_file_or_its_package(title: str, path: str, harm: str, about: bool) -> None:
    finding: dict[str, Any] = {"id": "frameworks.any", "title": title.format(prefix=PREFIX), "subject": str(PREFIX)}
    name = "torch" if path.startswith("torch/") else "odd-parts"  # a package's name in the title is enough
    assert is_about(draw(path, harm, name), finding, PREFIX) == about


def test_a_page_of_zeros_leaves_the_rest_as_it_was() -> None:
    content = b"x" * 20_000
    harmed = with_zeros(content)
    assert (len(harmed), harmed.count(0), harmed[:4096]) == (20_000, 4096, content[:4096])


@pytest.mark.parametrize("harm", ["emptied", "cut in half", "zeros alone", "closed", "another's file"])
def test_a_harm_never_reaches_the_file_that_a_copy_shares(tmp_path: Path, harm: str) -> None:
    master, copy = tmp_path / "master.so", tmp_path / "core.so"
    master.write_bytes(b"\x7fELF" + bytes(range(200)))
    before, mode = master.read_bytes(), master.stat().st_mode
    copy.hardlink_to(master)
    HARMS[harm](World(folder=tmp_path), draw("core.so", harm), copy)
    assert (master.read_bytes(), master.stat().st_mode) == (before, mode)
    assert (copy.stat().st_mode, copy.stat().st_size) != (mode, len(before)) or copy.read_bytes() != before


def test_the_sums_count_what_the_program_survives_apart() -> None:
    rows = [
        Told(draw(), works=False, verdict="named first", status=1, said="", found="", seconds=1.0),
        Told(draw(), works=False, verdict="missed", status=0, said="", found="", seconds=1.0),
        Told(draw(), works=True, verdict="quiet", status=0, said="", found="", seconds=1.0),
    ]
    assert "1 of 2 faults named first, 0 named later, 1 missed; of 1 that work all the same 1 quiet" in totals(rows)
