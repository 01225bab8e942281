"""JavaScript that starts programs with variables of its own: the real Node is the measure."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.starting.projects.tasks import task_ways
from tests.probes.starting.shells import in_project, project

NODE = shutil.which("node")
NAME = "LD_LIBRARY_PATH"
HEAD = "const { spawnSync, execSync } = require('node:child_process'); // env: { none }\n"
START = "'{env}/bin/python', ['-c', 'import os; print(os.environ.get(\"LD_LIBRARY_PATH\"))']"
OUT = "stdio: 'inherit'"

CODE = {
    "alone": f"spawnSync({START}, {{ env: {{ PATH: process.env.PATH, {NAME}: '/a' }}, {OUT} }});",
    "without it": f"spawnSync({START}, {{ {OUT}, env: {{ PORT: '1' }} }});",
    "with the rest": f"spawnSync({START}, {{ {OUT}, env: {{ ...process.env, '{NAME}': \"/a\" }} }});",
    "a template": f"spawnSync({START}, {{ {OUT}, env: {{ ...process.env, {NAME}: `/a:${{process.env.{NAME}}}` }} }});",
    "inherited": f"spawnSync({START}, {{ {OUT}, env: {{ ...process.env, X: '1' }} }});",
    "by assign": f"spawnSync({START}, {{ {OUT}, env: Object.assign({{}}, process.env, {{ {NAME}: '/a' }}) }});",
    "of a name": f"const mine = {{\n  {NAME}: '/a', // b\n}};\nspawnSync({START}, {{ {OUT}, env: mine }});",
    "spread": f"const base = {{ ...process.env }};\nspawnSync({START}, {{ {OUT}, env: {{ ...base, {NAME}: '/a' }} }});",
    "of its own": f"process.env.{NAME} = '/a';\nspawnSync({START}, {{ {OUT} }});",
    "a line": "execSync('{env}/bin/python -c \"import os; print(os.environ.get(\\'LD_LIBRARY_PATH\\'))\"', "
    f"{{ {OUT}, env: {{ {NAME}: '/a' }} }});",
}


@pytest.mark.skipif(not NODE, reason="needs node")
@pytest.mark.parametrize("code", CODE.values(), ids=CODE)
def test_a_program_gets_what_its_starter_gives(code: str, tmp_path: Path) -> None:
    env = project(tmp_path)
    text = HEAD + code.replace("{env}", str(env))
    (tmp_path / "work/server.js").write_text(text)
    made = in_project(tmp_path, **{NAME: "/session"})
    (way,) = [
        w for w in task_ways(replace(made, pythons=(PythonEnvironment(prefix=str(env), kind="venv"),))) if w.prefix
    ]
    given = {"PATH": "/usr/bin:/bin", NAME: "/session"}
    done = subprocess.run([str(NODE), "-e", text], env=given, capture_output=True, text=True, check=True, timeout=60)
    assert str(way.state.environment().get(NAME)) == done.stdout.strip()


@pytest.mark.parametrize("env", ["made()", "settings.env", "{ ...others }"])
def test_what_the_code_does_not_tell_is_left_out(env: str, tmp_path: Path) -> None:
    prefix = project(tmp_path)
    (tmp_path / "work/a.ts").write_text(f"{HEAD}spawnSync('{prefix}/bin/python', ['x.py'], {{ env: {env} }});\n")
    assert not [
        *task_ways(replace(in_project(tmp_path), pythons=(PythonEnvironment(prefix=str(prefix), kind="venv"),)))
    ]
