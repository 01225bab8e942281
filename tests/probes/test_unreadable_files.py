"""Packages' own files of settings that are no YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution
from core.probes.sysroot import Sysroot
from core.probes.variables.unreadable_files import tab_that_indents, unreadable_files
from tests.machines import PREFIX, SITE, python
from tests.probes.request import request, write


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a:\n\tb: 1\n", 2),
        ("a:\n  b:  # why\n\n \tc: 1\n", 4),
        ("a:\n  b: 1\n", 0),
        ("a: |\n  x\n\ty\n", 0),
        ("a: 1\n\t# a comment\n", 0),
    ],
)
def test_tabs_that_indent_yaml(text: str, line: int):
    assert tab_that_indents(text) == line


def test_a_file_of_a_package(tmp_path: Path):
    dask = Distribution(name="dask", version="2025.9.1", location=SITE)
    its = request(tmp_path, pythons=(python(distributions=(dask,)),))
    its = replace(its, script_folder="/home/ada/work", env={**its.env, "HOME": "/home/ada"})
    write(tmp_path, "/home/ada/.config/dask/dask.yaml", "distributed:\n\tworker: 1\n")
    told = [(r.prefix, r.reader, r.files[0], r.variable, r.line) for r in unreadable_files(its, Sysroot("linux", str(tmp_path)))]  # fmt: skip
    assert told == [
        (PREFIX, "dask", "/home/ada/.config/dask/dask.yaml", "YAML", 2),
    ]
