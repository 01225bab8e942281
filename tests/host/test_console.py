"""Windows' console with a kernel32 of our own: what is switched on, put back, and written to whom."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from core.cli import main, terminal
from core.common import streams
from core.common.streams import Reader
from core.doctor.examine import diagnose_snapshot
from core.host.windows.console import prepared_consoles
from core.report.json_form import to_json
from tests import machines as m

VIRTUAL_TERMINAL = 0x4


class Kernel:
    """Standard output and standard error by number: the mode of a console, or None for a pipe or a file."""

    def __init__(self, page: int, modes: dict[int, int | None], *, old: bool = False) -> None:
        self.page, self.modes, self.old = page, modes, old

    def GetConsoleOutputCP(self) -> int:
        return self.page

    def GetStdHandle(self, number: int) -> int:
        return -number

    def GetConsoleMode(self, handle: Any, mode: Any) -> int:
        found = self.modes[-handle.value]
        mode._obj.value = found or 0
        return int(found is not None)

    def SetConsoleMode(self, handle: Any, mode: Any) -> int:
        if self.old and mode.value & VIRTUAL_TERMINAL:
            return 0
        self.modes[-handle.value] = mode.value
        return 1


def test_escape_sequences_are_switched_on_and_the_mode_is_put_back() -> None:
    kernel = Kernel(437, {-11: 3, -12: 3})
    with prepared_consoles(kernel, {}) as readers:
        assert kernel.modes == {-11: 7, -12: 7}
        assert readers == (Reader(page="cp437"), Reader(page="cp437"))
    assert kernel.modes == {-11: 3, -12: 3}


def test_a_mode_that_has_them_already_is_left_alone() -> None:
    kernel = Kernel(65001, {-11: 7, -12: 7})
    with prepared_consoles(kernel, {}) as readers:
        assert readers == (Reader(page="cp65001"), Reader(page="cp65001"))
    assert kernel.modes == {-11: 7, -12: 7}


def test_an_old_console_gets_none() -> None:
    kernel = Kernel(437, {-11: 3, -12: 3}, old=True)
    with prepared_consoles(kernel, {}) as readers:
        assert not any(r.escapes for r in readers)
    assert kernel.modes == {-11: 3, -12: 3}


@pytest.mark.parametrize(
    ("page", "env", "expected"),
    [
        (437, {}, Reader(escapes=False, encoding="utf-8", page="ascii")),
        (65001, {}, Reader(escapes=False, encoding="utf-8", page="utf-8")),
        (0, {}, Reader(escapes=False, encoding="utf-8", page="utf-8")),
        (437, {"PYTHONIOENCODING": "cp932"}, Reader(escapes=False)),
    ],
)
def test_a_pipe_is_utf_8_unless_the_person_says_another(page: int, env: dict[str, str], expected: Reader) -> None:
    with prepared_consoles(Kernel(page, {-11: None, -12: 3}), env) as (results, complaints):
        assert results == expected
        assert complaints.escapes


def test_windows_terminal_has_every_sign() -> None:
    with prepared_consoles(Kernel(437, {-11: 3, -12: 3}), {"WT_SESSION": "x"}) as readers:
        assert readers[0] == Reader(page="utf-8")


class Stream(io.TextIOWrapper):
    """A stream as Python opens it: a console's is UTF-8, a pipe's is of the ANSI page."""

    def __init__(self, *, console: bool) -> None:
        self.raw_bytes, self.console = io.BytesIO(), console
        super().__init__(self.raw_bytes, encoding="utf-8" if console else "cp1252", newline="")

    def isatty(self) -> bool:
        return self.console


def shown(monkeypatch: pytest.MonkeyPatch, kernel: Kernel, *arguments: str) -> tuple[bytes, bytes]:
    out, err = Stream(console=kernel.modes[-11] is not None), Stream(console=kernel.modes[-12] is not None)
    monkeypatch.setattr(main, "prepared_streams", lambda: prepared_consoles(kernel, {}))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.delenv("NO_COLOR", raising=False)
    main.main(list(arguments))
    out.flush()
    err.flush()
    return out.raw_bytes.getvalue(), err.raw_bytes.getvalue()


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "Zoë 猫.json"
    report = diagnose_snapshot(m.with_file(m.wheel_machine(), "ops", state="truncated", size=9))
    path.write_bytes(to_json(report))
    return str(path)


@pytest.mark.parametrize(("page", "sign"), [(437, "x"), (1252, "×"), (936, "×"), (65001, "✗")])
@pytest.mark.parametrize("old", [False, True])
def test_a_console_shows_signs_of_its_page(
    page: int, sign: str, old: bool, report: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = shown(monkeypatch, Kernel(page, {-11: 3, -12: 3}, old=old), "replay", report)[0].decode()
    assert ("\x1b" in out) is not old
    assert (f"{sign} " if old else f"\x1b[31m{sign}\x1b[0m ") in out
    assert page == 65001 or not set(out) & set("✓✗")
    assert out.encode(f"cp{page}")


@pytest.mark.parametrize("page", [437, 1252, 936, 65001, 0])
def test_a_file_is_utf_8_without_escapes(page: int, report: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = shown(monkeypatch, Kernel(page, {-11: None, -12: None}), "replay", report)[0].decode("utf-8")
    assert "\\u" not in out
    assert "\x1b" not in out
    assert ("✗ " in out) is (page in (0, 65001))
    assert "corrupt_or_truncated_file" in out


@pytest.mark.parametrize("page", [437, 65001])
def test_json_in_a_pipe_can_be_read_by_whoever_takes_it_for_the_consoles_page(
    page: int, report: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = shown(monkeypatch, Kernel(page, {-11: None, -12: None}), "replay", "--json", report)[0]
    assert json.loads(out.decode(f"cp{page}")) == json.loads(Path(report).read_bytes())


def test_complaints_name_a_foreign_path_in_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = str(tmp_path / "猫.json")
    err = shown(monkeypatch, Kernel(437, {-11: None, -12: None}), "replay", missing)[1]
    assert missing in err.decode("utf-8")


def test_progress_is_one_line_that_changes_without_any_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Stream(console=True)
    monkeypatch.setattr(sys, "stderr", err)
    old = Reader(escapes=False)
    with streams.replaced_streams(old, old), terminal.progress_on_stderr() as watch:
        watch.say("Looking")
        watch.say("猫")
    err.flush()
    assert err.raw_bytes.getvalue().decode() == "\rLooking ...\r猫 ...     \r      \r"
