"""Variables that only a package's own code knows, in the file of a way of starting: the package's own import is the measure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment
from core.probes.starting import looks, probe
from core.probes.variables import vocabulary
from tests.probes.request import request

NAME = "FRAME_INTERVAL"
CODE = f"import os\nINTERVAL = float(os.environ.get('{NAME}', '0.1'))\n"


@pytest.mark.parametrize(("value", "refused"), [("0,5", True), ("0.5", False)])
def test_a_kernel_has_a_value_that_a_package_cannot_convert(value: str, refused: bool, tmp_path: Path):
    site = tmp_path / "env/lib/site-packages"
    (site / "frame").mkdir(parents=True)
    (site / "frame/__init__.py").write_text(CODE)
    (site / "frame-1.dist-info").mkdir()
    folder = tmp_path / "home/ada/.local/share/jupyter/kernels/train"
    folder.mkdir(parents=True)
    env = {NAME: value, "FRAME_TOKEN": "secret", "MY_OWN": "1"}
    (folder / "kernel.json").write_text(json.dumps({"argv": ["/env/bin/python"], "env": env}))
    real = subprocess.run(
        [sys.executable, "-c", "import frame"], cwd=site, env={**os.environ, **env}, capture_output=True, check=False
    )
    assert (b"ValueError" in real.stderr) is refused
    python = PythonEnvironment(
        prefix="/env",
        kind="venv",
        site_packages=("/env/lib/site-packages",),
        distributions=(Distribution(name="frame", version="1", location="/env/lib/site-packages"),),
    )
    given = request(tmp_path, {"HOME": "/home/ada"}, pythons=(python,))
    starts = probe.look(given)
    (kernel,) = [s for s in starts if s.kind == "notebook"]
    assert {v.name: v.value for v in kernel.variables if v.name in env} == {NAME: value}
    given = replace(given, seen=replace(given.seen, starts=starts))
    assert [r.unknown for r in vocabulary.look(given)] == ([(value,)] if refused else [])
    (look,) = [k for k in looks.look_again(given) if kernel.id in k.starts]
    assert look.environment is not None
    assert [v.source for v in look.environment.variables if v.name == NAME] == [f"{kernel.at}:1"]
