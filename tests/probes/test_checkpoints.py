"""Whole objects in a file that a program loads as PyTorch does by itself."""

from __future__ import annotations

import argparse
import collections
import pickle
import zipfile
from pathlib import Path

import pytest

from core.model.facts import Distribution
from core.probes.python import locations
from core.probes.python.programs.checkpoints import refused_checkpoints
from core.probes.sysroot import Sysroot
from tests.machines import python
from tests.probes.request import request, write

LOADS = "import torch\nmodel = torch.load('net.pt', map_location='cpu')\n"
WHOLE = argparse.Namespace(lr=0.1)


@pytest.mark.parametrize(
    ("program", "release", "holds", "env", "told"),
    [
        (LOADS, "2.6.0", WHOLE, {}, True),
        (LOADS.replace("'net.pt'", "NET").replace("model", "NET = 'net.pt'\nmodel"), "2.6.0+cu124", WHOLE, {}, True),
        (f"def main():\n    {LOADS.splitlines()[1]}\nmain()\n", "2.8.0", WHOLE, {}, True),
        (f"def main():\n    {LOADS.splitlines()[1]}\n", "2.8.0", WHOLE, {}, False),
        (f"try:\n    {LOADS.splitlines()[1]}\nexcept Exception:\n    pass\n", "2.8.0", WHOLE, {}, False),
        (LOADS, "2.5.1", WHOLE, {}, False),
        (LOADS, "2.6.0", collections.OrderedDict(lr=0.1), {}, False),
        (LOADS, "2.6.0", {"kinds": {1, 2}}, {}, False),
        (LOADS, "2.6.0", WHOLE, {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}, False),
        (LOADS.replace("'cpu'", "'cpu', weights_only=False"), "2.6.0", WHOLE, {}, False),
        (LOADS.replace("'cpu'", "'cpu', **more"), "2.6.0", WHOLE, {}, False),
        (LOADS.replace("net", "other"), "2.6.0", WHOLE, {}, False),
        (
            LOADS.replace("model", "torch.load = functools.partial(torch.load, weights_only=False)\nmodel"),
            "2.6.0",
            WHOLE,
            {},
            False,
        ),
    ],
)
def test_a_file_with_whole_objects_is_told_where_torch_refuses_it(
    program: str,
    release: str,
    holds: object,
    env: dict[str, str],
    told: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(locations, "working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/main.py", program)
    with zipfile.ZipFile(tmp_path / "home/ada/work/net.pt", "w") as file:
        file.writestr("net/data.pkl", pickle.dumps(holds, protocol=2))
    its = python(prefix="/env", distributions=(Distribution(name="torch", version=release, location="/env/site"),))
    asked = request(tmp_path, {"HOME": "/home/ada", **env}, pythons=(its,))
    found = [*refused_checkpoints(its, asked, Sysroot(system="linux", root=str(tmp_path)))]
    assert [(one.detail, one.path) for one in found] == [("argparse.Namespace", "/home/ada/work/net.pt")] * told
