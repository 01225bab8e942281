"""Modules that PYTHONSAFEPATH leaves out, beside what Python itself does with the same program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.probes.sysroot import Sysroot
from core.probes.variables.left_out import beside_left_out
from tests.machines import python
from tests.probes.request import request

PROGRAM = "import json\nfrom model import Net\n"
MODEL = {"model.py": "class Net:\n    pass\n"}


@pytest.mark.parametrize(
    ("files", "env", "lost"),
    [
        ({"main.py": PROGRAM, **MODEL}, {"PYTHONSAFEPATH": "1"}, True),
        ({"main.py": PROGRAM, "model/__init__.py": "Net = 1\n"}, {"PYTHONSAFEPATH": "1"}, True),
        ({"main.py": PROGRAM, **MODEL}, {}, False),
        ({"main.py": PROGRAM, **MODEL}, {"PYTHONSAFEPATH": ""}, False),
        ({"main.py": PROGRAM, **MODEL}, {"PYTHONSAFEPATH": "1", "PYTHONPATH": "{work}"}, False),
        ({"main.py": "import sys\nsys.path.insert(0, '.')\n" + PROGRAM, **MODEL}, {"PYTHONSAFEPATH": "1"}, False),
        ({"main.py": "import json\n", **MODEL}, {"PYTHONSAFEPATH": "1"}, False),
        (
            {"main.py": "try:\n    import model\nexcept ImportError:\n    pass\n", **MODEL},
            {"PYTHONSAFEPATH": "1"},
            False,
        ),
        ({"main.py": "import json\n", "json.py": "raise SystemExit(1)\n"}, {"PYTHONSAFEPATH": "1"}, False),
    ],
)
def test_programs_that_need_a_module_beside_them(
    files: dict[str, str], env: dict[str, str], lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    work, prefix = tmp_path / "work", tmp_path / "env"
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
    monkeypatch.chdir(work)
    given = {n: v.format(work=work) for n, v in env.items()}
    executable = str(prefix / "bin/python")
    ran = subprocess.run([executable, "main.py"], env={"PATH": os.environ["PATH"], **given}, capture_output=True, check=False)  # fmt: skip
    assert (ran.returncode != 0) is lost
    its = python(prefix=str(prefix), executable=executable, site_packages=())
    found = list(beside_left_out(request(Path("/"), given, pythons=(its,)), Sysroot(system="linux")))
    assert [(v.files, v.known) for v in found] == [((str(work / "main.py"),), ("model",))] * lost
