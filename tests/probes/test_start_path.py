"""PATH after an environment's start-up code, as Python on Windows would have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.model.facts import PythonEnvironment
from core.probes.loading.start_path import with_start_path
from core.probes.sysroot import Sysroot
from tests.probes.request import write

SITE = "C:\\ml\\Lib\\site-packages"
BEFORE = "C:\\Windows;C:\\tools"


@pytest.mark.parametrize(
    ("name", "code", "after"),
    [
        ("sitecustomize.py", "import os\nos.environ['PATH'] += os.pathsep + r'C:\\cuda\\bin'\n", f"{BEFORE};C:\\cuda\\bin"),
        ("sitecustomize.py", "import os\nos.environ['PATH'] = r'C:\\cuda\\bin' + ';' + os.environ['PATH']\n", f"C:\\cuda\\bin;{BEFORE}"),
        ("sitecustomize.py", "import os\nf = r'C:\\cuda\\bin'\nif f not in os.environ.get('PATH', ''):\n    os.environ['PATH'] = f'{f};{os.environ[\"PATH\"]}'\n", f"C:\\cuda\\bin;{BEFORE}"),
        ("sitecustomize.py", "import os\nos.environ['PATH'] = r'C:\\Windows'\n", BEFORE),
        ("sitecustomize.py", "import os, x\nos.environ['PATH'] = x.y\n", BEFORE),
        ("lab.pth", "import os; os.environ['PATH'] = r'C:\\cuda\\bin;' + os.environ['PATH']\n", f"C:\\cuda\\bin;{BEFORE}"),
        ("other.py", "import os\nos.environ['PATH'] += ';C:\\\\cuda'\n", BEFORE),
    ],
)  # fmt: skip
def test_what_start_up_code_adds(tmp_path: Path, name: str, code: str, after: str) -> None:
    write(tmp_path, f"{SITE}/{name}".replace("\\", "/"), code)
    python = PythonEnvironment(
        prefix="C:\\ml", executable="C:\\ml\\Scripts\\python.exe", kind="venv", site_packages=(SITE,)
    )
    found = with_start_path({"Path": BEFORE, "X": "1"}, python, Sysroot("windows", str(tmp_path)))
    assert found == {"Path": after, "X": "1"}
