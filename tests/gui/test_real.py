"""The whole on a virtual display and the real host: a fault in a throw-away environment, found, cured, verified, undone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import standin
from tests.fixing.test_ways import Terminals
from tests.gui.real_run import WENT_WELL

ROOT = Path(__file__).parents[2]


@pytest.fixture
def display() -> Iterator[str]:
    """A virtual display of our own."""
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1920x1080x24", "-nolisten", "tcp"],
        pass_fds=(write,),
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        number = pipe.readline().strip()
    assert number, "Xvfb did not start"
    yield f":{number}"
    server.terminate()
    server.wait()


@pytest.fixture
def environments(tmp_path: Path) -> tuple[Path, Path]:
    """Two environments with a stand-in cuDNN of one release."""
    made = []
    for name in ("broken", "sound"):
        prefix = Path(os.path.realpath(tmp_path)) / name
        venv.create(prefix, with_pip=False, symlinks=True)
        site = next(prefix.glob("lib/python3*/site-packages"))
        standin.install_cudnn(site, "9.1.0.70", 12)
        made.append(prefix)
    return made[0], made[1]


@pytest.mark.skipif(sys.platform == "win32", reason="Xvfb is Linux'; Windows' own is in tests/windows/test_window.py")
def test_found_cured_verified_and_undone_on_a_real_display(
    display: str, environments: tuple[Path, Path], tmp_path: Path
) -> None:
    broken, sound = environments
    file = next(broken.glob("lib/python3*/site-packages/nvidia/cudnn/lib/libcudnn_cnn.so.9"))
    file.unlink()
    env = {
        "PATH": os.environ["PATH"], "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8",
        "CONVALESCE_STATE": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(tmp_path), "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }  # fmt: skip
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.gui.real_run", str(broken), str(sound), str(file)],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["platform"] == "xcb"
    for told in said["rounds"]:
        assert told == {"page": "cuDNN", "cause": "cudnn_sublibrary_missing", **WENT_WELL}
    assert said["journal"] == ["undone", "undone"]


@pytest.mark.skipif(sys.platform == "win32", reason="variables come from a shell and an activation on Linux")
def test_what_a_profile_breaks_is_cured_for_the_window_and_for_every_terminal(display: str, tmp_path: Path) -> None:
    terminals = Terminals(Path(os.path.realpath(tmp_path)))
    terminals.profile.write_text(f"export LD_LIBRARY_PATH={terminals.other}\n")
    env = {
        **terminals.here, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(tmp_path),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.gui.real_partly", str(terminals.prefix)],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    verified = {v["way"]: v.get("holds") for v in said["verified"]}
    assert {"process", "activation", "bare", "login"} <= set(verified)
    assert set(verified.values()) == {True}
    assert "Verified: the fault is gone, and nothing got worse." in said["dialog"]
    assert said["after"] == said["again"] == []
    assert "ld_library_path_override" not in said["offered"], "the same cure is offered again"
    for way in ("process", "activation", "bare", "login"):
        found = [f for f in terminals.looked(way)["findings"] if f["cause"] == "ld_library_path_override"]
        assert not found, f"{way}: verified said that it is gone"


def walked(module: str, env: dict[str, str], *arguments: str) -> dict[str, Any]:
    """Walk along the four screens in a program of its own, and return what was read."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="Xvfb is Linux'")
def test_a_build_for_the_processor_is_exchanged_in_five_clicks(display: str, tmp_path: Path) -> None:
    work = Path(os.path.realpath(tmp_path))
    env = {
        "PATH": os.environ["PATH"], "HOME": str(work), "LANG": "C.UTF-8", "DISPLAY": display, "QT_QPA_PLATFORM": "xcb",
        "CONVALESCE_STATE": str(work / "window"), "XDG_RUNTIME_DIR": str(work), "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }  # fmt: skip
    said = walked("tests.gui.real_packages", env, str(work))
    titles = [title for title, _text in said["screens"]]
    assert titles == ["What does not work?", "The cause", "What will change", "Fixed"]
    _ask, cause, change, fixed = (text for _title, text in said["screens"])
    assert "The variant without GPU support is installed in" in cause
    assert "tested in a copy first; if that fails, nothing is changed." in change
    assert "Imported: torch 2.8.0+cu128." in fixed
    assert (said["before"], said["after"], said["in the end"]) == ("2.8.0+cpu", "2.8.0+cu128", "2.8.0+cpu")
    assert any("cu128" in path for path in said["fetched"])
    assert said["seconds"] <= 90
    assert said["presses"] <= 5
    assert said["journal"] == ["undone"]


@pytest.mark.skipif(sys.platform == "win32", reason="variables come from a shell and an activation on Linux")
def test_a_folder_that_a_profile_leaks_from_the_question_to_fixed(display: str, tmp_path: Path) -> None:
    terminals = Terminals(Path(os.path.realpath(tmp_path)))
    terminals.profile.write_text(f"export LD_LIBRARY_PATH={terminals.other}\n")
    env = {
        **terminals.here, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(tmp_path),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }  # fmt: skip
    said = walked("tests.gui.real_road", env, str(terminals.prefix))
    assert said["platform"] == "xcb"
    assert [title for title, _text in said["screens"]] == [
        "What does not work?",
        "The cause",
        "What will change",
        "Fixed",
    ]
    texts = [text for _title, text in said["screens"]]
    name = terminals.prefix.parent.name
    assert f"A setting (LD_LIBRARY_PATH) puts foreign libraries before those of {name}." in texts[1]
    assert "line 1 of ~/.profile (LD_LIBRARY_PATH)." in texts[2] or "Remove line 1 of ~/.profile" in texts[2]
    assert "it works." in texts[2]
    assert "The fault is gone, and nothing got worse." in texts[3]
    assert "Some ways of starting" not in texts[3]
    assert all(v["holds"] for v in said["verified"])
    assert said["seconds"] <= 90
    assert said["presses"] <= 5
    assert said["journal"] == ["undone"]
