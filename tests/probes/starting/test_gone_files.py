"""Files of variables that are not there: the real shell is the measure of whether anything starts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.starting.projects.described_programs import described_ways
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.services.systemd import service_ways
from core.probes.starting.starters import script_ways
from core.probes.starting.ways import Reached, editor_ways
from tests.probes.starting.shells import begin, in_project, project


@pytest.fixture
def home(tmp_path: Path) -> Path:
    project(tmp_path)
    (tmp_path / "work/main.py").write_text("print('started')\n")
    return tmp_path


def write(home: Path, name: str, text: str) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("{env}", str(home / "work/.venv")).replace("{home}", str(home)))
    path.chmod(0o755)
    return path


def gone(home: Path) -> list[tuple[str, str, int, bool]]:
    """Return what each way that starts the environment lacks: file, what names it, line, and whether it ends there."""
    made = in_project(home)
    its = (PythonEnvironment(prefix=str(home / "work/.venv"), kind="venv"),)
    ways: list[Reached] = [
        *service_ways(replace(made, pythons=its)),
        *script_ways(replace(made, pythons=its)),
        *task_ways(replace(made, pythons=its)),
    ]
    ways += [*described_ways(replace(made, pythons=its)), *editor_ways(replace(made, pythons=its), begin(home))]
    short = [(w, g) for w in ways for g in w.state.gone if str(home) in w.at]
    return [(g.path.removeprefix(f"{home}/"), g.file.removeprefix(f"{home}/"), g.line, g.ends) for _w, g in short]


SCRIPTS: dict[str, tuple[str, bool]] = {
    "sh": ("#!/bin/sh\n. {home}/own.env\nexec {env}/bin/python {home}/work/main.py\n", True),
    "bash": ("#!/bin/bash\nsource {home}/own.env\n{env}/bin/python {home}/work/main.py\n", False),
    "bash that ends at errors": (
        "#!/bin/bash\nset -euo pipefail\nsource {home}/own.env\n{env}/bin/python {home}/work/main.py\n",
        True,
    ),
    "bash with another word": (
        "#!/bin/bash\nset -e\nsource {home}/own.env || true\n{env}/bin/python {home}/work/main.py\n",
        False,
    ),
    "bash, switched off": (
        "#!/bin/bash -e\nset +e\nsource {home}/own.env\n{env}/bin/python {home}/work/main.py\n",
        False,
    ),
}


@pytest.mark.parametrize(("text", "ends"), SCRIPTS.values(), ids=SCRIPTS)
def test_a_script(text: str, ends: bool, home: Path):
    path = write(home, "work/run.sh", text)
    done = subprocess.run([path], cwd=home / "work", capture_output=True, text=True, check=False)
    assert ("started" not in done.stdout) is ends
    line = 1 + next(n for n, row in enumerate(text.splitlines()) if "own.env" in row)
    assert gone(home) == [("own.env", "work/run.sh", line, ends)]


def test_a_script_that_looks_first(home: Path):
    write(home, "work/run.sh", "#!/bin/sh\n[ -f {home}/own.env ] && . {home}/own.env\nexec {env}/bin/python main.py\n")
    assert gone(home) == []


UNIT = "[Service]\nEnvironmentFile={mark}%h/own.env\nExecStart={env}/bin/python main.py\n"
FILES: dict[str, tuple[str, str, int, bool]] = {
    "a service": (".config/systemd/user/x.service", UNIT.replace("{mark}", ""), 2, True),
    "a service that may start without it": (".config/systemd/user/x.service", UNIT.replace("{mark}", "-"), 2, False),
    "Compose": (
        "work/compose.yaml",
        "services:\n  a:\n    image: x\n    env_file: {home}/own.env\n    volumes: ['{home}:{home}']\n    command: {env}/bin/python main.py\n",
        4,
        True,
    ),
    "uv": ("work/Procfile", "web: {env}/bin/../bin/python -V\nx: uv run --env-file {home}/own.env python main.py\n", 2, True),
    "an editor's launch": (
        "work/.vscode/launch.json",
        '{"configurations": [{"type": "debugpy", "name": "x",\n"envFile": "{home}/own.env"}]}\n',
        2,
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "line", "ends"), FILES.values(), ids=FILES)
def test_what_other_files_name(name: str, text: str, line: int, ends: bool, home: Path):
    write(home, "work/pyproject.toml", "[project]\nname = 'x'\n")
    write(home, name, text)
    assert gone(home) == [("own.env", name, line, ends)]
    write(home, "own.env", "A=1\n")
    assert gone(home) == []
