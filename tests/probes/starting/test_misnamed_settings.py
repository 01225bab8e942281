"""Files of variables under another name than the one that a program reads; each program runs, and ends, or does not."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.starting.misnamed_settings import misnamed_settings
from tests.probes.starting.shells import ground

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="an environment of Linux; the Windows lab runs the same rows there"
)

DOTENV = """
import os, sys
def load_dotenv(dotenv_path=None):
    folder = os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename))
    places = [dotenv_path] if dotenv_path else [os.path.join(f, '.env') for f in (folder, os.path.dirname(folder))]
    for place in [p for p in places if os.path.isfile(p)][:1]:
        for line in open(place):
            name, _, value = line.strip().partition('=')
            os.environ.setdefault(name, value)
"""
CLIENT = """
import os
class Base: ...
class OpenAI(Base):
    def __init__(self, *, api_key: str | None = None, base_url=None) -> None:
        if api_key is None:
            api_key = os.environ.get("OPENAI_API_KEY")
        if api_key is None:
            raise ValueError("set the OPENAI_API_KEY environment variable")
        self.api_key = api_key
class Free:
    def __init__(self, api_key=None) -> None:
        api_key = api_key or os.environ.get("OPENAI_API_KEY")
class Strict:
    def __init__(self, api_key=None, url="") -> None:
        api_key = api_key or os.getenv("OPENAI_API_KEY")
        if not api_key:
            raise ValueError("no key")
"""
HEAD = (
    "import os\nfrom dotenv import load_dotenv\nimport openai\nfrom openai import Free, OpenAI, Strict\nload_dotenv()\n"
)
KEY = {".env.txt": "OPENAI_API_KEY=a\n"}
CASES: dict[str, tuple[str, dict[str, str], int]] = {
    "a client": (f"{HEAD}client = OpenAI(base_url='http://localhost:11434/v1')\n", KEY, 6),
    "a client by its package": (f"{HEAD}client = openai.OpenAI()\n", {"env.txt": "OPENAI_API_KEY=a\n"}, 6),
    "a client in main": (f"{HEAD}if __name__ == '__main__':\n    client = OpenAI(api_key=os.getenv('OPENAI_API_KEY'))\n", KEY, 7),
    "a client that takes it in one line": (f"{HEAD}client = Strict(url='http://localhost')\n", KEY, 6),
    "asked for by the program": (f"{HEAD}key = os.environ['OPENAI_API_KEY']\n", KEY, 6),
    "a file beside the program": (HEAD.replace("()", "(os.path.join(os.path.dirname(__file__), 'keys.env'))") + "OpenAI()\n", {"keys.env.txt": "OPENAI_API_KEY=a\n"}, 6),
    "a file that is there": (f"{HEAD}client = OpenAI()\n", KEY | {".env": "OPENAI_API_KEY=a\n"}, 0),
    "a file above": (f"{HEAD}client = OpenAI()\n", KEY | {"../.env": "OPENAI_API_KEY=a\n"}, 0),
    "a key that the program gives": (f"{HEAD}client = OpenAI(api_key='ollama')\n", KEY, 0),
    "a key by its place": (f"{HEAD}client = Strict('ollama')\n", KEY, 0),
    "a client that needs no key": (f"{HEAD}client = Free()\n", KEY, 0),
    "a client that is made later": (f"{HEAD}def ask():\n    return OpenAI()\n", KEY, 0),
    "a program that sets it": (f"{HEAD}os.environ['OPENAI_API_KEY'] = 'a'\nclient = OpenAI()\n", KEY, 0),
}  # fmt: skip


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> PythonEnvironment:
    prefix = tmp_path_factory.mktemp("lab") / "env"
    venv.create(prefix)
    site = next(prefix.glob("lib/python3*/site-packages"))
    for name, text in {
        "dotenv/__init__.py": DOTENV,
        "openai/__init__.py": "from ._client import *\n",
        "openai/_client.py": CLIENT,
    }.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    return PythonEnvironment(
        prefix=str(prefix), kind="venv", executable=str(prefix / "bin/python"), site_packages=(str(site),)
    )


@pytest.mark.parametrize("name", CASES)
def test_a_program_that_does_not_find_its_file(name: str, tmp_path: Path, environment: PythonEnvironment) -> None:
    text, files, line = CASES[name]
    folder = tmp_path / "work"
    folder.mkdir()
    for file, content in {"chat.py": text, **files}.items():
        (folder / file).write_text(content, encoding="utf-8")
    program = str(folder / "chat.py")
    run = subprocess.run([environment.executable, "-I", "-B", program], cwd=folder, env={}, capture_output=True, check=False)  # fmt: skip
    assert bool(run.returncode) is bool(line), run.stderr.decode()
    here = replace(ground(tmp_path), env={}, folder=str(folder), pythons=(environment,))
    told = [(one.fault, one.name, one.source, one.program) for way in misnamed_settings(here) for one in way.runs]
    misnamed = str(folder / next(iter(files)))
    assert told == [("misnamed file", "OPENAI_API_KEY", f"{program}:{line}", misnamed)] * bool(line)


@pytest.mark.parametrize(("env", "script"), [({"OPENAI_API_KEY": "a"}, ""), ({}, "export OPENAI_API_KEY=a\n")])
def test_a_variable_that_is_set_elsewhere(
    env: dict[str, str], script: str, tmp_path: Path, environment: PythonEnvironment
) -> None:
    (tmp_path / "work").mkdir()
    for file, content in {"chat.py": CASES["a client"][0], ".env.txt": "OPENAI_API_KEY=a\n", "run.sh": script}.items():
        (tmp_path / "work" / file).write_text(content, encoding="utf-8")
    here = replace(ground(tmp_path), env=env, folder=str(tmp_path / "work"), pythons=(environment,))
    assert list(misnamed_settings(here)) == []


UNREAD: dict[str, tuple[str, dict[str, str], bool]] = {
    "nothing reads it": ("os.environ['OPENAI_API_KEY']", {}, True),
    "it stands in a text for people": ("os.path.join(os.environ.get('OPENAI_API_KEY'), 'a')", {"README.md": "cp .env.example .env\n"}, True),
    "a makefile reads it": ("os.environ['OPENAI_API_KEY']", {"Makefile": "include .env\nexport\n"}, False),
    "an editor reads it": ("os.environ['OPENAI_API_KEY']", {".vscode/settings.json": "{}"}, False),
    "a module of the program reads it": ("os.environ['OPENAI_API_KEY']", {"own.py": "from dotenv import load_dotenv\n"}, False),
    "direnv reads it": ("os.environ['OPENAI_API_KEY']", {".envrc": "dotenv\n"}, False),
    "the program has another value": ("os.environ.get('OPENAI_API_KEY', 'a')", {}, False),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREAD)
def test_a_file_of_variables_that_nothing_reads(name: str, tmp_path: Path, environment: PythonEnvironment) -> None:
    asks, files, told = UNREAD[name]
    for file, content in {"chat.py": f"import os\n{asks}\n", ".env": "OPENAI_API_KEY=a\n", **files}.items():
        (tmp_path / "work" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / file).write_text(content, encoding="utf-8")
    here = replace(ground(tmp_path), env={}, folder=str(tmp_path / "work"), pythons=(environment,))
    runs = [(one.fault, one.name, one.source, one.program) for way in misnamed_settings(here) for one in way.runs]
    work = tmp_path / "work"
    assert runs == [("variable not set", "OPENAI_API_KEY", f"{work}/chat.py:2", f"{work}/.env")] * told


PATHS = "import os\nRAW = os.environ.get('Slices_raw')\nCOLOUR = os.environ.get('Slices_colour', 'red')\n"
RENAMED: dict[str, tuple[str, dict[str, str], str]] = {
    "a package's constant": ("from slices.paths import RAW\nimport os\nprint(os.path.join(RAW, 'a'))\n", {"Slices_raw_data_base": "/d"}, "Slices_raw_data_base"),
    "the program's own": ("import os\nfolder = os.environ['Slices_raw']\n", {"SLICES_RAW": "/d"}, "SLICES_RAW"),
    "set": ("from slices.paths import RAW\nimport os\nprint(os.path.join(RAW, 'a'))\n", {"Slices_raw": "/d", "Slices_raw_data_base": "/d"}, ""),
    "a constant with a value of its own": ("from slices.paths import COLOUR\nimport os\nprint(os.path.join(COLOUR, 'a'))\n", {"Slices_colour_old": "x"}, ""),
    "a constant that is not used": ("from slices.paths import RAW\nimport os\nprint(RAW)\n", {"Slices_raw_data_base": "/d"}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", RENAMED)
def test_a_variable_under_the_name_of_another_release(
    name: str, tmp_path: Path, environment: PythonEnvironment
) -> None:
    text, env, meant = RENAMED[name]
    for file, content in {"work/chat.py": text, "site/slices/__init__.py": "", "site/slices/paths.py": PATHS}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content, encoding="utf-8")
    program, site = str(tmp_path / "work/chat.py"), str(tmp_path / "site")
    run = subprocess.run([environment.executable, "-B", program], env={"PYTHONPATH": site, **env}, capture_output=True, check=False)  # fmt: skip
    assert bool(run.returncode) is bool(meant), run.stderr.decode()
    home = replace(environment, site_packages=(*environment.site_packages, site))
    here = replace(ground(tmp_path), env=env, folder=str(tmp_path / "work"), pythons=(home,))
    told = [(one.fault, one.name, one.command) for way in misnamed_settings(here) for one in way.runs]
    assert told == [("variable not set", "Slices_raw", meant)] * bool(meant)
    assert not meant or list(misnamed_settings(replace(here, env={}))) == []
