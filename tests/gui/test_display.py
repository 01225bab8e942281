"""Whether a window can be shown is found out without Qt, which would end the process where it cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import PySide6
import pytest

from gui import display
from tests import standin

PLUGINS = Path(PySide6.__file__).parent / "Qt" / "plugins" / "platforms"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows always has a display")


def test_without_a_display() -> None:
    assert "no display" in display.why_no_window({}, PLUGINS)
    assert "no display" in display.why_no_window({"DISPLAY": ":1", "QT_QPA_PLATFORM": "wayland"}, PLUGINS)


def test_a_display_that_does_not_answer() -> None:
    assert display.why_no_window({"DISPLAY": ":98765"}, PLUGINS) == "The display :98765 does not respond."


def test_a_library_that_is_not_installed_is_named(tmp_path: Path) -> None:
    needed = standin.build_library(tmp_path / "libxcb-nowhere.so.7")
    plugin = standin.build_library(tmp_path / "libqxcb.so", needed=(needed,))
    needed.unlink()
    said = display.why_no_window({"DISPLAY": ":0"}, tmp_path)
    assert (
        said
        == "The window needs libxcb-nowhere.so.7, which is not installed (on Debian and Ubuntu: apt install libxcb-nowhere7)."
    )
    assert plugin.exists()


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libxcb-cursor.so.0", "libxcb-cursor0"),
        ("libEGL.so.1", "libegl1"),
        ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
        ("libdbus-1.so.3", "libdbus-1-3"),
        ("libX11-xcb.so.1", "libx11-xcb1"),
        ("/some/plugin.so", ""),
    ],
)
def test_debians_names(library: str, package: str) -> None:
    assert display.debian_package(library) == package


def test_what_needs_no_display_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert display.missing_display() == ""
