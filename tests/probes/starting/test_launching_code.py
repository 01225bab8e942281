"""Python code that starts programs with variables of its own: the real subprocess is the measure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.starting.projects.tasks import task_ways
from tests.probes.starting.shells import in_project, project

NAME = "LD_LIBRARY_PATH"
START = "['{env}/bin/python', '-c', 'import os; print(os.environ.get(\"LD_LIBRARY_PATH\"))']"

CODE = {
    "alone": f"import subprocess\nsubprocess.run({START}, env={{'{NAME}': '/a'}})\n",
    "without it": f"import subprocess\nsubprocess.run({START}, env={{'LANG': 'C'}}, check=True)\n",
    "with the rest": f"import os, subprocess\nsubprocess.check_call({START}, env={{**os.environ, '{NAME}': '/a'}})\n",
    "inherited": f"import os, subprocess\nsubprocess.check_call({START}, env={{**os.environ, 'X': '/a'}})\n",
    "a copy": f"import os\nfrom subprocess import Popen\nenv = os.environ.copy()\nenv['{NAME}'] = '/a'\nPopen({START}, env=env).wait()\n",
    "taken away": f"import os, subprocess\nenv = dict(os.environ)\nenv.pop('{NAME}', None)\nsubprocess.call({START}, env=env)\n",
    "by its name": f"import subprocess\nfrom os import environ\nsubprocess.call({START}, env={{**environ, '{NAME}': '/a'}})\n",
    "put before": f"import os, subprocess\nsubprocess.call({START}, env={{**os.environ, '{NAME}': '/a:' + os.environ.get('{NAME}', '')}})\n",
    "by dict": f"import os, subprocess\nsubprocess.call({START}, env=dict(os.environ, {NAME}='/a'))\n",
    "by or": f"import os, subprocess\nsubprocess.call({START}, env=os.environ | {{'{NAME}': '/a'}})\n",
    "updated": f"import os, subprocess\ne = os.environ.copy()\ne.update({{'{NAME}': '/a'}})\nsubprocess.call({START}, env=e)\n",
}


@pytest.mark.parametrize("code", CODE.values(), ids=CODE)
def test_a_program_gets_what_its_starter_gives(code: str, tmp_path: Path) -> None:
    env = project(tmp_path)
    text = code.replace("{env}", str(env))
    (tmp_path / "work/dags").mkdir()
    (tmp_path / "work/dags/train.py").write_text(text)
    made = in_project(tmp_path, **{NAME: "/session"})
    (way,) = [
        w for w in task_ways(replace(made, pythons=(PythonEnvironment(prefix=str(env), kind="venv"),))) if w.prefix
    ]
    given = {"PATH": "/usr/bin:/bin", NAME: "/session"}
    done = subprocess.run(
        [sys.executable, "-c", text], env=given, capture_output=True, text=True, check=True, timeout=60
    )
    assert str(way.state.environment().get(NAME)) == done.stdout.strip()


AIRFLOW = (
    "from airflow.operators.bash import BashOperator\nBashOperator(task_id='t', bash_command='{env}/bin/python x.py', "
)


@pytest.mark.parametrize(
    ("rest", "value"),
    [
        ("env={'LANG': 'C'})", None),
        ("env={'LANG': 'C'}, append_env=True)", "/session"),
        (f"env={{'{NAME}': '/a'}})", "/a"),
        ("append_env=True)", "/session"),
        ("env=made())", "none"),
    ],
)
def test_what_airflow_gives(rest: str, value: str | None, tmp_path: Path) -> None:
    env = project(tmp_path)
    (tmp_path / "work/dags").mkdir()
    (tmp_path / "work/dags/train.py").write_text(AIRFLOW.replace("{env}", str(env)) + rest + "\n")
    made = in_project(tmp_path, **{NAME: "/session"})
    ways = [w for w in task_ways(replace(made, pythons=(PythonEnvironment(prefix=str(env), kind="venv"),))) if w.prefix]
    assert [w.state.environment().get(NAME) for w in ways] == ([] if value == "none" else [value])
