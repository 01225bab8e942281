"""The roll call's use of Windows' own loader. Runs on Windows, and under wine by ``python -m tests.windows``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.host.child import ask_child
from core.host.this_host import this_host
from core.probes.loading.roll_call.child import answer_roll_call
from core.probes.loading.roll_call.protocol import LaterLibrary, RollCallEvent, RollCallRequest

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="asks Windows' loader")


def roll(
    main: str, *functions: str, parts: tuple[LaterLibrary, ...] = (), folders: tuple[str, ...] = ()
) -> list[RollCallEvent]:
    host = this_host()
    asked = RollCallRequest(system="windows", major=9, main=main, functions=functions, parts=parts, folders=folders)
    said = ask_child(answer_roll_call, asked, RollCallEvent, host=host, env=host.fresh_environment(), timeout=60)
    assert said.ended == ""
    return [e for e in said.events if e.kind in ("call", "loaded")]


def test_a_library_that_is_there() -> None:
    load, loaded, call, missing = roll(
        "version.dll", "NoSuchFunction", parts=(LaterLibrary(name="no.dll", tries=("no.dll",)),)
    )
    assert (load.name, load.result, load.problem) == ("LoadLibraryExW", 0, "")
    assert loaded.name.lower().endswith("\\version.dll")
    assert call.problem == "This library has no such function."
    assert (missing.library, missing.result, missing.problem) == ("no.dll", 126, "ERROR_MOD_NOT_FOUND")


def test_a_library_that_is_nowhere() -> None:
    (load,) = roll("cudnn64_99.dll")
    assert (load.result, load.problem) == (126, "ERROR_MOD_NOT_FOUND")


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    path = tmp_path / "cudnn64_9.dll"
    path.write_bytes(b"no library at all")
    (load,) = roll(str(path))
    assert (load.result, load.problem) == (193, "ERROR_BAD_EXE_FORMAT")


def test_added_folders_do_no_harm(tmp_path: Path) -> None:
    assert roll("version.dll", folders=(str(tmp_path), str(tmp_path / "none")))[0].result == 0
