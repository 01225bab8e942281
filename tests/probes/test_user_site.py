"""What PYTHONNOUSERSITE leaves out, beside what Python itself does with the same program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.probes.sysroot import Sysroot
from core.probes.variables.left_out import users_left_out
from tests.machines import python
from tests.probes.request import request

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.skipif(sys.platform == "win32", reason="folders of Linux")
@pytest.mark.parametrize(
    ("program", "value", "inside", "lost"),
    [
        ("import fastthing\n", "1", False, True),
        ("import fastthing\n", "", False, False),
        ("try:\n    import fastthing\nexcept ImportError:\n    pass\n", "1", False, False),
        ("import json\n", "1", False, False),
        ("import fastthing\n", "1", True, False),
    ],
)
def test_programs_that_need_the_users_own_packages(
    program: str, value: str, inside: bool, lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    work, prefix, home = tmp_path / "work", tmp_path / "env", tmp_path / "home"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(prefix)], check=True)
    for folder in (work, home / f".local/lib/python{MINOR}/site-packages/fastthing"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    (work / "__init__.py").unlink()
    (work / "main.py").write_text(program)
    if inside:
        (prefix / f"lib/python{MINOR}/site-packages/fastthing.py").touch()
    monkeypatch.chdir(work)
    executable = str(prefix / "bin/python")
    given = {"HOME": str(home), **({"PYTHONNOUSERSITE": value} if value else {})}
    ran = subprocess.run([executable, "main.py"], env={"PATH": os.environ["PATH"], **given}, capture_output=True, check=False)  # fmt: skip
    assert (ran.returncode != 0) is lost, ran.stderr
    its = python(prefix=str(prefix), executable=executable, site_packages=())
    found = list(users_left_out(request(Path("/"), given, pythons=(its,)), Sysroot(system="linux")))
    assert [v.known for v in found] == [("fastthing",)] * lost
