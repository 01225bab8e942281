"""Entries of .env that a class of settings forbids; each program runs with a reader that does what pydantic-settings does, and ends, or does not."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment
from core.probes.starting.forbidden_settings import forbidden_settings
from tests.probes.starting.shells import ground

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="an environment of Linux; the Windows lab runs the real pydantic-settings"
)

READER = """
import os
def SettingsConfigDict(**given):
    return given
class BaseSettings:
    def __init__(self):
        config = {"extra": "forbid", "env_prefix": "", **self.model_config}
        known = [config["env_prefix"] + name for name in type(self).__annotations__]
        rows = open(config["env_file"]).read().split() if os.path.isfile(config["env_file"]) else []
        odd = [r for r in rows if r.partition("=")[0].lower() not in [k.lower() for k in known]]
        if odd and config["extra"] == "forbid":
            raise ValueError(f"Extra inputs are not permitted: {odd}")
"""
CLASS = "from pydantic_settings import BaseSettings, SettingsConfigDict\n\nclass Settings(BaseSettings):\n    model_config = SettingsConfigDict(env_prefix='TAB_', env_file='.env'{more})\n    folder: str = ''\n\nsettings = Settings()\n"
HERE = CLASS.replace("{more}", "")
CASES: dict[str, tuple[dict[str, str], str, str]] = {
    "of a package": ({"main.py": "import tab\n"}, "OTHER=1\n", "site/tab/settings.py:7"),
    "of the program": ({"main.py": HERE}, "OTHER=1\nTAB_FOLDER=a\n", "main.py:7"),
    "of its own module": ({"main.py": "from config import settings\n", "config.py": HERE}, "OTHER=1\n", "config.py:7"),
    "what it knows": ({"main.py": "import tab\n"}, "TAB_FOLDER=a\n", ""),
    "what is ignored": ({"main.py": CLASS.replace("{more}", ", extra='ignore'")}, "OTHER=1\n", ""),
    "an object that nobody makes": ({"main.py": HERE.replace("settings = Settings()", "def f():\n    return Settings()")}, "OTHER=1\n", ""),
    "another file": ({"main.py": HERE.replace(".env'", ".env.tab'")}, "OTHER=1\n", ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> PythonEnvironment:
    prefix = tmp_path_factory.mktemp("lab") / "env"
    venv.create(prefix)
    site = next(prefix.glob("lib/python3*/site-packages"))
    files = {"pydantic_settings/__init__.py": READER, "tab/__init__.py": "from .settings import settings\n", "tab/settings.py": HERE, "tab-1.0.dist-info/METADATA": "Name: tab\nRequires-Dist: pydantic-settings>=2.0\n"}  # fmt: skip
    for name, text in files.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    tab = Distribution(name="tab", version="1.0", location=str(site))
    return PythonEnvironment(
        prefix=str(prefix), kind="venv", executable=str(prefix / "bin/python"), site_packages=(str(site),), distributions=(tab,)
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_file_with_an_entry_too_many(case: str, tmp_path: Path, environment: PythonEnvironment) -> None:
    files, entries, source = CASES[case]
    for name, text in {**files, ".env": entries}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ran = subprocess.run([environment.executable, "main.py"], cwd=tmp_path, capture_output=True, check=False)
    assert bool(ran.returncode) == bool(source), ran.stderr.decode()
    its = replace(ground(Path(environment.prefix).parent), env={}, folder=str(tmp_path), pythons=(environment,))
    told = {(r.source.replace(environment.site_packages[0], f"{tmp_path}/site"), r.name) for w in forbidden_settings(its) for r in w.runs}  # fmt: skip
    assert told == ({(f"{tmp_path}/{source}", "Extra inputs are not permitted: OTHER")} if source else set())
