"""Files that a program opens in an encoding in which they cannot be read, on Linux; those of Windows are with its other ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.probes.starting.machine import ground_of
from core.probes.starting.opened_files import files_opened_in_vain
from core.probes.sysroot import sysroot_of
from tests.machines import python
from tests.probes.request import request, write

WORK = "/home/ada/work"


@pytest.mark.parametrize(
    ("program", "env", "told"),
    [
        ("rows = open('old.txt').read()\n", {}, True),
        ("from pathlib import Path\nrows = Path('old.txt').read_text()\n", {"LANG": "de_DE.UTF-8"}, True),
        ("rows = open('old.txt').read()\n", {"LC_ALL": "de_DE.ISO-8859-1"}, False),
        ("rows = open('old.txt', encoding='latin-1').read()\n", {}, False),
        ("rows = open('old.txt', errors='replace').read()\n", {}, False),
        ("rows = open('old.txt', 'rb').read()\n", {}, False),
        ("rows = open('new.txt').read()\n", {}, False),
        ("rows = open('data.bin', 'rb').read()\n", {}, False),
        ("try:\n    rows = open('old.txt').read()\nexcept UnicodeDecodeError:\n    rows = ''\n", {}, False),
    ],
)
def test_a_file_of_windows_that_a_program_opens_as_utf_8(
    program: str, env: dict[str, str], told: bool, tmp_path: Path
) -> None:
    write(tmp_path, f"{WORK}/main.py", program)
    files = {"old.txt": b"Stra\xdfe\n", "new.txt": "Straße\n".encode(), "data.bin": b"\0\xdf"}
    for name, data in files.items():
        write(tmp_path, f"{WORK}/{name}", data)
    its = request(tmp_path, {"HOME": "/home/ada", **env})
    ground = replace(ground_of(its, sysroot_of(its.host), WORK), pythons=(python(),))
    found = [(one.fault, one.name, one.source) for way in files_opened_in_vain(ground) for one in way.runs]
    assert found == [("file not in code page", "old.txt", f"{WORK}/main.py:{program.count(chr(10))}")] * told
    if "ISO" not in str(env):  # a locale that need not be here
        run = [sys.executable, "-X", "utf8", "main.py"]
        done = subprocess.run(run, cwd=tmp_path / WORK.lstrip("/"), capture_output=True, check=False)
        assert bool(done.returncode) == told


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("pd.read_csv('old.csv')", True),
        ("pd.read_csv('old.csv', sep=';')", True),
        ("pd.read_csv('old.csv', encoding='cp1252')", False),
        ("pd.read_csv('old.csv', encoding_errors='ignore')", False),
        ("pd.read_csv('old.csv', **options)", False),
        ("pd.read_csv('new.csv')", False),
        ("pd.read_csv('old.csv.gz')", False),
    ],
)
def test_a_table_that_excel_has_saved(call: str, told: bool, tmp_path: Path) -> None:
    write(tmp_path, f"{WORK}/main.py", f"import pandas as pd\n\nrows = {call}\n")
    for name, data in {
        "old.csv": b"Stra\xdfe;1\n",
        "new.csv": "Straße;1\n".encode(),
        "old.csv.gz": b"\x1f\x8b\xdf",
    }.items():
        write(tmp_path, f"{WORK}/{name}", data)
    its = request(tmp_path, {"HOME": "/home/ada", "LC_ALL": "de_DE.ISO-8859-1"})
    ground = replace(ground_of(its, sysroot_of(its.host), WORK), pythons=(python(),))
    found = [(one.fault, one.name) for way in files_opened_in_vain(ground) for one in way.runs]
    assert found == [("file not in code page", "old.csv")] * told


@pytest.mark.parametrize(
    ("program", "value", "told"),
    [
        ("rows = open('~/data/x.csv').read()\n", "", "~/data/x.csv"),
        ("import os\nrows = open(os.path.expanduser('~/data/x.csv')).read()\n", "", ""),
        ("import os\nif not os.path.exists('~'):\n    raise SystemExit(1)\nrows = open('~/none/x.csv').read()\n", "", ""),
        ("from dotenv import load_dotenv\nimport os\nload_dotenv()\nrows = open(os.environ['DATA'] + '/x.csv').read()\n", "~/data", "~/data/x.csv"),
        ("from dotenv import load_dotenv\nimport os\nload_dotenv()\nrows = open(os.environ['DATA'] + '/x.csv').read()\n", "$HOME/data", "$HOME/data/x.csv"),
        ("from dotenv import load_dotenv\nimport os\nload_dotenv()\nrows = open(os.environ['DATA'] + '/x.csv').read()\n", "${HOME}/data", ""),
        ("from dotenv import load_dotenv\nimport os\nload_dotenv()\nwith open(os.path.join(os.environ['DATA'], 'x.csv')) as file:\n    rows = file.read()\n", "~/data", "~/data/x.csv"),
        ("import pandas as pd\nrows = pd.read_csv('~/data/x.csv')\n", "", ""),
    ],
)  # fmt: skip
def test_a_path_that_only_a_shell_would_complete(program: str, value: str, told: str, tmp_path: Path) -> None:
    write(tmp_path, f"{WORK}/main.py", program)
    write(tmp_path, "/home/ada/data/x.csv", "a;b\n")
    if value:
        write(tmp_path, f"{WORK}/.env", f"DATA={value}\n")
    its = request(tmp_path, {"HOME": "/home/ada"})
    ground = replace(ground_of(its, sysroot_of(its.host), WORK), pythons=(python(),))
    found = [(o.fault, o.name, o.program) for way in files_opened_in_vain(ground) for o in way.runs]
    assert found == [("place not expanded", told, "/home/ada/data/x.csv")] * bool(told)


def test_a_path_with_a_variable_of_windows(tmp_path: Path) -> None:
    write(tmp_path, "C:/project/main.py", "import os\nfrom dotenv import load_dotenv\nload_dotenv()\nopen(os.path.join(os.environ['DATA'], 'x.csv'))\n")  # fmt: skip
    write(tmp_path, "C:/project/.env", "DATA=%SystemDrive%\\data\n")
    write(tmp_path, "C:/data/x.csv", "a;b\n")
    its = request(tmp_path, system="windows", env={"SYSTEMDRIVE": "C:"})
    ground = replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(python(),))
    found = [(o.fault, o.name, o.program) for way in files_opened_in_vain(ground) for o in way.runs]
    assert found == [("place not expanded", r"%SystemDrive%\data\x.csv", r"C:\data\x.csv")]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (r"np.load('data\train.npy')", True),
        (r"pd.read_csv('data\train.npy')", True),
        (r"np.load(r'data\train.npy')", False),
        (r"np.load('data\\train.npy')", False),
        (r"np.load('data\images.npy')", False),
        (r"np.load('data\test.npy')", False),
    ],
)
def test_a_backslash_that_begins_an_escape(call: str, told: bool, tmp_path: Path) -> None:
    write(tmp_path, "C:/project/main.py", f"import numpy as np\nimport pandas as pd\n\nrows = {call}\n")
    write(tmp_path, "C:/project/data/train.npy", "1")
    write(tmp_path, "C:/project/data/images.npy", "1")
    its = request(tmp_path, system="windows")
    ground = replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(python(),))
    found = [(o.fault, o.name, o.program) for way in files_opened_in_vain(ground) for o in way.runs]
    assert found == [("place not expanded", "data\train.npy", r"C:\project\data\train.npy")] * told
