"""The window on Qt's own platform for Windows: a planted fault found, cured in the real registry, verified and undone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.doctor.engine import ThisMachine
from core.host.windows.host import WindowsHost
from core.transaction.journal import Journal, state_folder
from tests.gui.conftest import qapp_args  # noqa: F401 - the style that the window is made for
from tests.gui.real_road import walk
from tests.gui.real_run import WENT_WELL, run
from tests.windows.planted import in_the_lab, places

assert sys.platform == "win32"
# ruff: noqa: E402 - type checkers on Linux stop at the assertion; what follows is known on Windows alone

from tests.windows.faultlab import layouts
from tests.windows.faultlab.machine import Machine, fingerprint, values

FOLDER = str(layouts.NEW_FOLDER)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A Windows with a driver, CUDA, cuDNN that is not on PATH, and a program that wants it."""
    ours, clean = dict(os.environ), fingerprint()
    made = Machine(places())
    layouts.with_9(made, on_path=False)
    os.environ.clear()
    os.environ.update({**ours, **WindowsHost().fresh_environment(), "CONVALESCE_STATE": str(tmp_path / "state")})
    yield made
    os.environ.clear()
    os.environ.update(ours)
    made.clean()
    assert fingerprint() == clean


def entries() -> list[str]:
    """The user's PATH in the registry."""
    kept = {name.upper(): data for name, (data, _kind) in values("user").items()}
    return str(kept.get("PATH", "")).split(";")


@in_the_lab
@pytest.mark.parametrize("keyboard", [False, True], ids=["mouse", "keyboard"])
def test_found_cured_verified_and_undone(keyboard: bool, machine: Machine, tmp_path: Path, qtbot: QtBot) -> None:
    assert QApplication.platformName() == "windows"
    before = fingerprint()
    told = run(tuple(machine.pythons), lambda: FOLDER in entries(), str(tmp_path), keyboard=keyboard)
    assert told == {"page": "cuDNN", "cause": "cudnn_not_on_search_path", **WENT_WELL}
    assert [getattr(e, "state", "bad") for e in Journal(state_folder()).entries()] == ["undone"]
    assert fingerprint() == before


@in_the_lab
@pytest.mark.parametrize("keyboard", [False, True], ids=["mouse", "keyboard"])
def test_from_the_message_to_fixed_in_the_real_registry(
    keyboard: bool, machine: Machine, tmp_path: Path, qtbot: QtBot
) -> None:
    before = fingerprint()
    settings = QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat)
    message = "Could not load library cudnn64_9.dll. Error code 126"
    engine = ThisMachine(tuple(machine.pythons))
    told = walk(engine, settings, lambda: FOLDER in entries(), message=message, keyboard=keyboard)
    screens = told["screens"]
    assert isinstance(screens, list)
    assert told["platform"] == "windows"
    assert [title for title, _text in screens] == ["What does not work?", "The cause", "What will change", "Fixed"]
    assert (told["before"], told["after"], told["in the end"]) == (False, True, False)
    assert isinstance(told["presses"], int)
    assert told["presses"] <= 5
    assert told["journal"] == ["undone"]
    assert fingerprint() == before
