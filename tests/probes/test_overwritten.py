"""Packages that two distributions own: whose modules are there, by what installers write."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from core.model.facts import PythonEnvironment
from core.probes.python.installed.overwritten import _overwritten_packages
from core.probes.sysroot import Sysroot

HERE = Sysroot(system="linux")


def install(site: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Write files as an installer does, with their RECORD."""
    rows = []
    for inner, text in files.items():
        path = site / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{inner},sha256={digest},{len(text)}\n")
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("".join(rows))


OLD = {"vision/__init__.py": "a = 1\n", "vision/data.py": "old = 1\n", "vision/more.py": "m = 1\n"}
LONG = "".join(f"from .data import name_{n}\n" for n in range(60))
NEW = {"vision/__init__.py": "a = 2\n", "vision/data.py": "new = 1\n"}


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (("vision", "1.0", OLD), ("vision_headless", "2.0", NEW), ("vision-headless 2.0", "vision 1.0")),
        (("vision_headless", "2.0", NEW), ("vision", "1.0", OLD), ("vision 1.0", "vision-headless 2.0")),
        (("PyVision", "1.0", OLD), ("Vision.Headless", "2.0", NEW), ("vision-headless 2.0", "pyvision 1.0")),
        (("vision", "1.0", OLD), ("vision_headless", "1.0", OLD), None),
        (("vision", "1.0", OLD), ("vision_headless", "1.1", OLD), None),
        (("space_a", "1.0", {"space/__init__.py": "a\n", "space/a.py": "1\n"}), ("space_b", "2.0", {"space/__init__.py": "b\n", "space/b.py": "1\n"}), None),
        (("vision", "1.0", {**OLD, "vision/__init__.py": LONG}), ("project", "0.1", {"vision/__init__.py": "", "vision/city.py": "1\n"}), ("project 0.1", "vision 1.0")),
        (("project", "0.1", {"vision/__init__.py": "", "vision/city.py": "1\n"}), ("vision", "1.0", {**OLD, "vision/__init__.py": LONG}), None),
        (("vision", "1.0", {**OLD, "vision/__init__.py": LONG}), ("vision_more", "2.0", {"vision/__init__.py": f"{LONG}__path__ = extend_path(__path__, __name__)\n", "vision/city.py": "1\n"}), None),
        (("vision", "1.0", {**OLD, "vision/__init__.py": LONG}), ("vision_more", "2.0", {"vision/__init__.py": "__import__('pkg_resources').declare_namespace(__name__)\n", "vision/city.py": "1\n"}), None),
        (("vision", "1.0", {**OLD, "vision/__init__.py": f"# {'licence ' * 80}\n"}), ("project", "0.1", {"vision/__init__.py": "", "vision/city.py": "1\n"}), None),
        (("vision", "1.0", {**OLD, "vision/__init__.py": LONG[:800]}), ("project", "0.1", {"vision/__init__.py": "", "vision/city.py": "1\n"}), ("project 0.1", "vision 1.0")),
        (("ffmpeg_python", "0.2.0", {"ffmpeg/__init__.py": "from .run import input\n"}), ("ffmpeg", "1.4", {"ffmpeg/__init__.py": "a = 1\n"}), ("ffmpeg 1.4", "ffmpeg-python 0.2.0")),
        (("ffmpeg", "1.4", {"ffmpeg/__init__.py": "a = 1\n"}), ("ffmpeg_python", "0.2.0", {"ffmpeg/__init__.py": "from .run import input\n"}), None),
        (("one", "1.0", {"tests/__init__.py": "", "tests/help.py": "1\n"}), ("two", "2.0", {"tests/__init__.py": "", "tests/help.py": "2\n"}), None),
    ],
    ids=["new over old", "old over new", "names in capitals", "twins", "the same modules", "a namespace", "a start that another project wrote", "a start that was written again", "a start that looks for all parts", "a start that declares a namespace", "a start that was only a licence", "a start of a few imports", "another project over the one that is meant", "the one that is meant over another project", "tests of both"],
)  # fmt: skip
def test_whose_modules_are_there(
    tmp_path: Path,
    first: tuple[str, str, dict[str, str]],
    second: tuple[str, str, dict[str, str]],
    told: tuple[str, str] | None,
):
    install(tmp_path, *first)
    install(tmp_path, *second)
    python = PythonEnvironment(prefix=str(tmp_path), site_packages=(str(tmp_path),))
    found, _lasts = _overwritten_packages(python, HERE)
    assert [(one.written, one.lost) for one in found] == ([told] if told else [])


def test_modules_that_a_person_edited_are_of_neither(tmp_path: Path):
    install(tmp_path, "vision", "1.0", OLD)
    install(tmp_path, "vision_headless", "2.0", NEW)
    for name in ("__init__.py", "data.py"):
        (tmp_path / "vision" / name).write_text("edited = 1\n")
    python = PythonEnvironment(prefix=str(tmp_path), site_packages=(str(tmp_path),))
    assert _overwritten_packages(python, HERE)[0] == ()
