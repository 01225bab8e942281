"""uv's form of the guard, with the real uv: the activation names the constraint, and a later installation keeps the build."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from core.doctor import repair
from core.doctor.repair import RepairContext
from core.host.this_host import this_host
from core.transaction.journal import Journal
from core.transaction.variable_store import LinuxVariables
from tests.curelab.environments import by_uv
from tests.envlab.run import LabHost
from tests.packages.conftest import Bench, tree

INSTALL = '. "$1/bin/activate" && uv pip install --no-index --find-links "$2" torch==2.8.0+cpu'


@pytest.fixture
def uv_bench(tmp_path: Path, ready: Path) -> Bench:
    work = tmp_path.resolve()
    made = by_uv(work)
    made.install("--no-index", "--find-links", str(ready / "wheels"), "torch==2.8.0+cpu")
    shop = RepairContext(
        host=LabHost(this_host(), made.variables),
        writer=LinuxVariables("/", str(work / "home")),
        journal=Journal(work / "state"),
        machine_journal=Journal(work / "machine"),
    )
    return Bench(made.prefix, ready / "wheels", made.variables, shop)


def test_a_guard_keeps_the_build_from_uv_as_well(uv_bench: Bench) -> None:
    before = tree(uv_bench.prefix)
    guarded = uv_bench.prepared(guard=True, remove=("torch",), install=("torch==2.8.0+cu128",))
    done = uv_bench.apply(guarded)
    assert done.kind == "done", done.sentence
    command = ["sh", "-c", INSTALL, "sh", str(uv_bench.prefix), str(uv_bench.wheels)]
    later = subprocess.run(command, env=dict(uv_bench.variables), capture_output=True, text=True, check=False)
    assert later.returncode != 0
    assert "2.8.0+cu128" in later.stderr
    assert uv_bench.version() == "2.8.0+cu128"
    assert repair.undo(done.entry, uv_bench.shop).kind == "undone"
    assert tree(uv_bench.prefix) == before
