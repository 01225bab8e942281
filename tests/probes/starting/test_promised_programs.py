"""A debugger's configuration and a kernel that name their Python by its path: what that Python lacks of what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution
from core.probes.starting.machine import Ground
from core.probes.starting.projects.promised_programs import with_promised_programs
from core.probes.starting.starters import script_ways
from core.probes.starting.ways import desktop_session, editor_ways, notebook_ways
from tests.probes.starting.test_started_code import VERSION, here, home, pythons, write  # noqa: F401 - home is a fixture


def runs(home: Path, ground: Ground) -> list[tuple[str, tuple[str, ...], bool]]:  # noqa: F811 - the fixture's value
    own = pythons(home)
    site = home / "env/lib" / VERSION / "site-packages"
    (site / "torch").mkdir(exist_ok=True)
    (site / "torch/__init__.py").write_text("")
    torch = Distribution(name="torch", version="2.8.0", location=str(site))
    every = (replace(own[0], distributions=(*own[0].distributions, torch)), own[1])
    terminal = desktop_session(ground)
    ways = (
        *editor_ways(replace(ground, pythons=every), terminal),
        *notebook_ways(replace(ground, pythons=every), terminal),
    )
    found = with_promised_programs(iter(ways), replace(ground, pythons=every))
    return [(one.program, one.lacks, one.sure) for way in found for one in way.runs]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"python": "{home}/bare/bin/python", "program": "${workspaceFolder}/main.py"},
            [("main.py", ("frame",), True)],
        ),
        ({"python": "{home}/bare/bin/python", "module": "frame"}, [("frame", ("frame",), True)]),
        ({"python": "{home}/env/bin/python", "program": "${workspaceFolder}/main.py"}, []),
        ({"python": "{home}/bare/bin/python", "program": "${file}"}, []),
        ({"program": "${workspaceFolder}/main.py"}, []),
    ],
)
def test_what_a_debugger_starts(settings: dict[str, str], told: list[tuple[str, tuple[str, ...], bool]], home: Path):  # noqa: F811 - the fixture
    row = {"name": "train", "type": "debugpy", "request": "launch", **settings}
    write(home, {"work/.vscode/launch.json": json.dumps({"configurations": [row]})})
    assert [(Path(p).name, lacks, sure) for p, lacks, sure in runs(home, here(home))] == told


@pytest.mark.parametrize(("given", "told"), [({}, True), ({"LOCAL_RANK": "0"}, False)])
def test_a_debugger_that_gives_no_rank(given: dict[str, str], told: bool, home: Path):  # noqa: F811 - the fixture
    row = {"name": "train", "python": f"{home}/env/bin/python", "program": "rank.py", "env": given}
    text = json.dumps({"configurations": [{"type": "debugpy", "request": "launch", **row}]})
    write(home, {"work/.vscode/launch.json": text, "work/rank.py": "import os\nprint(os.environ['LOCAL_RANK'])\n"})
    assert runs(home, here(home)) == [("torchrun", (), True)] * told


@pytest.mark.parametrize(
    ("more", "told"), [({}, True), ({"cwd": "${workspaceFolder}/sub"}, False), ({"cwd": "${fileDirname}"}, False)]
)
def test_a_debugger_that_starts_above_the_files(more: dict[str, str], told: bool, home: Path):  # noqa: F811 - the fixture
    row = {"type": "debugpy", "python": f"{home}/env/bin/python", "program": "${workspaceFolder}/sub/rank.py", **more}
    text = "with open('rows.json') as file:\n    print(file.read())\n"
    rows = {".vscode/launch.json": json.dumps({"configurations": [row]}), "sub/rank.py": text, "sub/rows.json": "[]"}
    write(home, {f"work/{name}": its for name, its in rows.items()})
    assert runs(home, here(home)) == [(f"{home}/work/sub", (), True)] * told


@pytest.mark.parametrize(
    ("name", "shown", "python", "told"),
    [
        ("torch", "Python (torch)", "bare", [("Python (torch)", ("torch",), True)]),
        ("gpu", "PyTorch 2", "bare", [("PyTorch 2", ("torch",), True)]),
        ("torch", "Python (torch)", "env", []),
        ("lectures", "Python 3", "bare", []),
    ],
)
def test_a_kernel_that_is_named_after_a_framework(name: str, shown: str, python: str, told: list[object], home: Path):  # noqa: F811 - the fixture
    spec = {"argv": [f"{home}/{python}/bin/python", "-m", "ipykernel_launcher"], "display_name": shown}
    write(home, {f".local/share/jupyter/kernels/{name}/kernel.json": json.dumps(spec)})
    assert runs(home, here(home)) == told


@pytest.mark.parametrize(("option", "lacks"), [("--export=NONE", ("frame",)), ("--export=ALL", None)])
def test_a_job_that_gets_nothing_of_the_session(option: str, lacks: tuple[str, ...] | None, home: Path):  # noqa: F811 - the fixture
    write(home, {"work/job.sbatch": f"#!/bin/bash\n#SBATCH {option}\npython3 main.py\n", ".profile": f"PATH={home}/bare/bin:/bin\n"})  # fmt: skip
    ground = here(home, PATH=f"{home}/env/bin:/usr/bin:/bin", VIRTUAL_ENV=f"{home}/env")
    found = [one.lacks for way in script_ways(replace(ground, pythons=pythons(home)), ()) for one in way.runs]
    assert found == ([lacks] if lacks else [])
