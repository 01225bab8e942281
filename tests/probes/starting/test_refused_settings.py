"""Files of settings that their reader refuses: each program really runs, and ends at the line that is told, or does not end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from core.host.startup.plain import read_dotenv
from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.starting.machine import ground_of
from core.probes.starting.refused_settings import refused_settings
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write
from tests.probes.starting.shells import ground

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="an environment of Linux; the Windows lab has rows of its own"
)

JSON = "import json\nwith open('config.json', encoding='utf-8') as f:\n    config = json.load(f)\n"
YAML = "import yaml\nwith open('config.yaml') as f:\n    config = yaml.safe_load(f)\n"
LOADS = "import yaml\ndef load(path):\n    with open(path) as f:\n        return yaml.safe_load(f)\n"
TOML = "import tomllib\nfrom pathlib import Path\nconfig = tomllib.loads(Path('settings.toml').read_text())\n"
INI = "import configparser\nconfig = configparser.ConfigParser()\nconfig.read('settings.ini')\nprint(config['paths']['cache'])\n"
IN_MAIN = "import json\nimport os\nHERE = os.path.dirname(os.path.abspath(__file__))\ndef load():\n    return json.loads(open(os.path.join(HERE, 'config.json')).read())\nif __name__ == '__main__':\n    load()\n"
PATH = '{"model": "C:\\lab\\models"}'
DECOUPLES = """
def config(name, default=None, cast=str):
    rows = [row.partition("=") for row in open(".env") if not row.startswith("#")]
    value = {k.strip(): v.strip() for k, _, v in rows}.get(name)
    return default if value is None else cast(value.strip("'"))
"""
DECOUPLE = "from decouple import config\nthreads = config('THREADS', default=4, cast=int)\n"
DOTENV = """
import os

def load_dotenv():
    for row in open(".env", encoding="utf-8"):
        name, _, value = row.strip().partition("=")
        os.environ.setdefault(name, value.strip('"'))
"""
OMEGACONF = r"""
import os, re

class OmegaConf:
    load = staticmethod(lambda path: open(path).read())
    resolve = staticmethod(lambda told: re.sub(r"\$\{oc\.env:(\w+)(?:,([^}]*))?\}", lambda m: m[2] or os.environ[m[1]], told))
"""
OMEGA = "from omegaconf import OmegaConf\nsettings = OmegaConf.load('config.yaml')\nOmegaConf.resolve(settings)\n"
ASKS = (
    "import os\nimport urllib.request\nfrom dotenv import load_dotenv\nload_dotenv()\nkey = os.environ['API_KEY']{more}\ntry:\n"
    "    urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:9', headers={{'{head}': f'Bearer {{key}}'}}))\nexcept OSError:\n    pass\n"
)
ASK, CURLY = (
    ASKS.format(more="", head="Authorization"),
    "API_KEY=\N{LEFT DOUBLE QUOTATION MARK}sk-0\N{RIGHT DOUBLE QUOTATION MARK}\n".encode(),
)
CASES: dict[str, tuple[str, str, bytes, int, str]] = {
    "a comment behind a number": (DECOUPLE, ".env", b"THREADS=4  # of eight\n", 2, ""),
    "a number": (DECOUPLE, ".env", b"# THREADS=4 # of eight\nTHREADS='4'\n", 0, ""),
    "curly quotation marks": (ASK, ".env", CURLY, 7, ""),
    "a key in straight ones": (ASK, ".env", b'API_KEY="sk-0"\n', 0, ""),
    "a key that is made plain": (ASKS.format(more=".encode('ascii', 'ignore').decode()", head="Authorization"), ".env", CURLY, 0, ""),
    "a key that nobody sends": ("import os\nimport urllib.request\nfrom dotenv import load_dotenv\nload_dotenv()\nkey = os.environ['API_KEY']\n", ".env", CURLY, 0, ""),
    "a variable that is not set": (OMEGA, "config.yaml", b"a: 1\ndata:\n  root: ${oc.env:NOWHERE}/images\n", 2, ""),
    "a variable with a default": (OMEGA, "config.yaml", b"root: ${oc.env:NOWHERE,/data}/images\n", 0, ""),
    "a variable that is set": (OMEGA, "config.yaml", b"root: ${oc.env:PATH}\n", 0, ""),
    "a variable of a value that nobody takes": (OMEGA.replace("OmegaConf.resolve(settings)", "print(settings)"), "config.yaml", b"root: ${oc.env:NOWHERE}\n", 0, ""),
    "a path of Windows": (JSON, "config.json", PATH.encode(), 3, "backslash"),
    "a path in a function": (IN_MAIN, "config.json", PATH.encode(), 5, "backslash"),
    "a mark before UTF-8": (JSON, "config.json", '{"a": 1}'.encode("utf-8-sig"), 3, "mark"),
    "UTF-16": (JSON, "config.json", '{"a": 1}'.encode("utf-16"), 3, "mark"),
    "a comma too many": (JSON, "config.json", b'{"a": 1,}', 3, ""),
    "a path in TOML": (TOML, "settings.toml", b'model = "C:\\lab\\models"\n', 3, "backslash"),
    "a path in YAML": (YAML, "config.yaml", b'model: "C:\\lab\\models"\n', 3, "backslash"),
    "a tab in YAML": (YAML, "config.yaml", b"model:\n\tname: a\n", 3, ""),
    "a blank too many in YAML": (YAML, "config.yaml", b"a:\n    base: /lab\n     models: m\n    vae: v\n", 3, ""),
    "a value of two lines in YAML": (YAML, "config.yaml", b"a:\n    base: /lab\n     models\n    vae: v\n", 0, ""),
    "a blank too many in a list of YAML": (YAML, "config.yaml", b"- base: /lab\n   models: m\n", 3, ""),
    "rows of a list in YAML": (YAML, "config.yaml", b"- base: /lab\n  models: m\n", 0, ""),
    "two colons in YAML": (YAML, "config.yaml", b"title: Run 1: warm-up\n", 3, ""),
    "colons in YAML": (YAML, "config.yaml", b"url: http://a:1  # b: c\nat: 12:30:00\nodd: 'a: b'\nmap: {a: b}\n", 0, ""),
    "brackets in YAML": (YAML, "config.yaml", b"odd: {\n  a: b,\n    c: d }\nmore: \"a\n  b: c\n    d: e\"\n", 0, ""),
    "a function with the path": (f"{LOADS}config = load('config.yaml')\n", "config.yaml", b"a: b: c\n", 5, ""),
    "a function with another path": (f"{LOADS}config = load('/dev/null')\n", "config.yaml", b"a: b: c\n", 0, ""),
    "a function that may return": (LOADS.replace("    with", "    if len(path) > 3:\n        return None\n    with") + "load('config.yaml')\n", "config.yaml", b"a: b: c\n", 0, ""),
    "if it is there": (f"import os\n{LOADS}if os.path.isfile('config.yaml'):\n    load('config.yaml')\n", "config.yaml", b"a: b: c\n", 7, ""),
    "if another is there": (f"import os\n{LOADS}if os.path.isfile('gone.yaml'):\n    load('config.yaml')\n", "config.yaml", b"a: b: c\n", 0, ""),
    "blanks in YAML": (YAML, "config.yaml", b"model:\n  name: a\n", 0, ""),
    "a percent sign": (INI, "settings.ini", b"[paths]\ncache = %USERPROFILE%\\hf\n", 3, "percent"),
    "no section": (INI, "settings.ini", b"cache = /tmp\n", 3, ""),
    "slashes": (JSON, "config.json", b'{"model": "C:/lab/models"}', 0, ""),
    "two backslashes": (JSON, "config.json", b'{"model": "C:\\\\lab\\\\models"}', 0, ""),
    "bytes with a mark": (JSON.replace(", encoding='utf-8'", ", 'rb'"), "config.json", '{"a": 1}'.encode("utf-16"), 0, ""),
    "an encoding with a mark": (JSON.replace("utf-8", "utf-8-sig"), "config.json", '{"a": 1}'.encode("utf-8-sig"), 0, ""),
    "within try": ("try:\n    import json\n    json.load(open('config.json'))\nexcept ValueError:\n    pass\n", "config.json", PATH.encode(), 0, ""),
    "suppressed": ("import contextlib, json\nwith contextlib.suppress(ValueError):\n    json.load(open('config.json'))\n", "config.json", PATH.encode(), 0, ""),
    "a program that makes it": ("import json\njson.dump({}, open('config.json', 'w'))\nconfig = json.load(open('config.json'))\n", "config.json", PATH.encode(), 0, ""),
    "a function that nobody calls": (JSON.replace("with", "def load():\n  with"), "config.json", PATH.encode(), 0, ""),
    "plain text in TOML": (TOML, "settings.toml", b"model = 'C:\\lab\\models'\n", 0, ""),
    "without interpolation": (INI.replace("ConfigParser()", "ConfigParser(interpolation=None)"), "settings.ini", b"[paths]\ncache = %USERPROFILE%\\hf\n", 0, ""),
    "a value that nobody asks for": (INI, "settings.ini", b"[paths]\ncache = a\nother = 100%\n", 0, ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> PythonEnvironment:
    prefix = tmp_path_factory.mktemp("lab") / "env"
    venv.create(prefix)
    site = next(prefix.glob("lib/python3*/site-packages"))
    (site / "decouple.py").write_text(DECOUPLES)
    (site / "dotenv.py").write_text(DOTENV)
    (site / "omegaconf.py").write_text(OMEGACONF)
    shutil.copytree(Path(yaml.__file__).parent, site / "yaml")
    return PythonEnvironment(
        prefix=str(prefix), executable=str(prefix / "bin/python"), kind="venv", version="3.11.2", architecture="x86_64", site_packages=(str(site),)
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_file_that_its_reader_refuses(case: str, environment: PythonEnvironment, tmp_path: Path) -> None:
    program, name, data, line, reason = CASES[case]
    (tmp_path / "main.py").write_text(program)
    (tmp_path / name).write_bytes(data)
    ran = subprocess.run([environment.executable, "main.py"], cwd=tmp_path, capture_output=True, check=False)
    assert bool(ran.returncode) == bool(line), ran.stderr.decode()
    its = replace(
        ground(Path(environment.prefix).parent), folder=str(tmp_path), pythons=(environment,), env=dict(os.environ)
    )
    runs = [one for way in refused_settings(its) for one in way.runs]
    assert [(r.source, r.program, r.refused) for r in runs] == (
        [(f"{tmp_path}/main.py:{line}", f"{tmp_path}/{name}", reason)] if line else []
    )


@pytest.mark.parametrize("name", ["paths.yaml", "paths.yaml.example"])
def test_a_portable_program_whose_module_reads_its_settings(name: str, tmp_path: Path) -> None:
    """As ComfyUI's main.py and utils/extra_config.py do."""
    app, site = "C:/portable/app", "C:\\portable\\python\\Lib\\site-packages"
    write(tmp_path, "C:/portable/run.bat", ".\\python\\python.exe -s app\\main.py\r\npause\r\n")
    write(
        tmp_path,
        f"{app}/main.py",
        "import os\nimport utils.extra\n\ndef apply():\n    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'paths.yaml')\n    if os.path.isfile(path):\n        utils.extra.load(path)\n\napply()\n",
    )
    write(
        tmp_path,
        f"{app}/utils/extra.py",
        "import yaml\n\ndef load(yaml_path):\n    with open(yaml_path, 'r', encoding='utf-8') as stream:\n        config = yaml.safe_load(stream)\n    for c in config:\n        print(c)\n",
    )
    write(tmp_path, f"{app}/{name}", "a111:\n    base: C:\\lab\n     models: m\n")
    write(tmp_path, f"{site}/yaml/__init__.py".replace("\\", "/"))
    home = PythonEnvironment(
        prefix="C:\\portable\\python",
        executable="C:\\portable\\python\\python.exe",
        kind="base",
        version="3.11.9",
        site_packages=(site,),
    )
    its = request(tmp_path, {}, system="windows", pythons=(home,))
    its = replace(ground_of(its, sysroot_of(its.host), "C:\\portable"), pythons=(home,))
    runs = [(one.source, one.program) for way in refused_settings(its) for one in way.runs]
    assert runs == [("C:\\portable\\app\\main.py:7", "C:\\portable\\app\\paths.yaml")] * (name == "paths.yaml")


def test_escapes_in_a_file_of_variables() -> None:
    """As python-dotenv 1.0.1 reads them."""
    state = State()
    read_dotenv('A="C:\\new\\temp"\nB=\'C:\\new\'\nC=C:\\new\nD="a\\"b"  # c\nE="\\\\x"\n', ".env", state)
    assert [state.values[n] for n in "ABCDE"] == ["C:\new\temp", "C:\\new", "C:\\new", 'a"b', "\\x"]


@pytest.mark.parametrize(
    ("path", "folder", "told"), [("coins", "/gone/data", True), ("coins", "{home}/datasets", False), ("{home}/datasets/coins", "/gone/data", False)]
)  # fmt: skip
def test_settings_of_ultralytics_that_name_a_folder_that_is_gone(
    path: str, folder: str, told: bool, environment: PythonEnvironment, tmp_path: Path
) -> None:
    home, site = tmp_path, Path(environment.site_packages[0])
    (site / "ultralytics.py").touch()
    for name in ("work", "datasets/coins", ".config/Ultralytics"):
        (home / name).mkdir(parents=True)
    (home / ".config/Ultralytics/settings.json").write_text(f'{{"datasets_dir": "{folder.format(home=home)}"}}')
    (home / "work/coins.yaml").write_text(f"path: {path.format(home=home)}\nval: images\n")
    (home / "work/main.py").write_text("from ultralytics import YOLO\nYOLO('y.pt').train(data='coins.yaml')\n")
    its = ground(Path(environment.prefix).parent)
    its = replace(its, folder=str(home / "work"), pythons=(environment,), person=replace(its.person, home=str(home)))
    runs = [one.source for way in refused_settings(its) for one in way.runs]
    assert runs == [f"{home}/work/main.py:2"] * told
