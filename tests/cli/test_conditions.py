"""The program as it is started under bad conditions: a sentence, the right stream, the right exit status, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.common.exit_codes import UNEXAMINED

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "tests/snapshots/h200/cnn-deleted.json"
PROGRAM = f"{sys.executable} -m core"
NOBODY = "setpriv --reuid 54321 --regid 54321 --clear-groups env -u HOME -u USER -u LOGNAME"
"""A user whom the system's list of accounts does not hold."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the conditions of a shell of Linux")


def started(command: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    words = command.replace("CONVALESCE", PROGRAM).replace("REPORT", str(REPORT))
    env = {k: v for k, v in os.environ.items() if k not in ("CONVALESCE_STATE", "PYTHONUNBUFFERED", "COVERAGE_FILE")}
    done = subprocess.run(
        ["bash", "-c", words],
        env={**env, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "CONVALESCE_LANGUAGE": "en"},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr
    assert "fault of its own" not in done.stderr
    return done


FULL = "convalesce: standard output cannot be written: No space left on device."
CLOSED = "convalesce: standard output cannot be written: Bad file descriptor."
WITHOUT_RESULTS = (
    "CONVALESCE --version",
    "CONVALESCE --help",
    "CONVALESCE explain missing_library",
    "CONVALESCE replay REPORT",
    "CONVALESCE replay REPORT --json",
    "CONVALESCE report REPORT --html",
    "CONVALESCE report REPORT --markdown",
    "CONVALESCE triage .",
    "CONVALESCE scan --only driver",
    "CONVALESCE explain - --text-only <<< 'CUDA error: out of memory'",
    "CONVALESCE undo --list",
)


@pytest.mark.parametrize("command", WITHOUT_RESULTS)
@pytest.mark.parametrize(("where", "told"), [(">/dev/full", FULL), (">&-", CLOSED)])
def test_a_result_that_cannot_be_written_is_told_on_stderr(command: str, where: str, told: str, tmp_path: Path) -> None:
    done = started(f"{command} {where}", tmp_path)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == told


ANYWAY = {
    "CONVALESCE scan --only driver 2>&-": 0,
    "CONVALESCE scan --only driver 2>/dev/full": 0,
    "CONVALESCE scan --only driver <&-": 0,
    "CONVALESCE replay REPORT 2>&- <&-": 1,
    "CONVALESCE replay /nonexistent 2>/dev/full": 2,
    "CONVALESCE replay /nonexistent 2>&-": 2,
    "CONVALESCE nosuch 2>/dev/full": 2,
    "CONVALESCE nosuch 2>&- <&- >&-": 2,
    "CONVALESCE replay REPORT 2>&- <&- >&-": 3,
    "CONVALESCE undo <&-": 0,
    "CONVALESCE fix --dry-run <&-": 0,
    "{ CONVALESCE replay REPORT 2>&1; echo $? >&2; } | true": 0,
    "ulimit -n 16; CONVALESCE scan": 0,
    "ulimit -n 16; CONVALESCE fix --dry-run": 0,
    "ulimit -f 0; CONVALESCE scan": 0,
    "ulimit -f 0; CONVALESCE fix --dry-run": 0,
    "ulimit -f 0; CONVALESCE undo": 0,
    "ulimit -s 256; CONVALESCE scan --only driver": 0,
    "TMPDIR=/proc CONVALESCE scan": 0,
    "HOME=/dev/null CONVALESCE fix --dry-run": 0,
    "HOME=relative CONVALESCE scan --only environment": 0,
    "env -u HOME CONVALESCE scan": 0,
    "mkdir gone; cd gone; rmdir ../gone; CONVALESCE scan": 0,
    "PATH= CONVALESCE scan": 0,
}


@pytest.mark.parametrize("command", ANYWAY)
def test_what_it_can_do_without_is_done_without(command: str, tmp_path: Path) -> None:
    done = started(command, tmp_path)
    status = ANYWAY[command]
    # a machine that has a GPU set-up may have findings; what cannot be examined under a limit is told, and ends with 5
    allowed = (0, 1, UNEXAMINED) if "scan" in command else (status, UNEXAMINED) if "ulimit -n" in command else (status,)
    assert done.returncode in allowed, done.stdout + done.stderr
    if not status and "| true" not in command and "--dry-run" not in command:
        assert done.stdout
    if done.returncode == UNEXAMINED:
        said = done.stdout if "scan" in command else done.stdout.partition("no fault was found.")[2]
        assert "Undecided" in said  # it says what was not examined; a scan also says where it found no fault


NAMED = {
    "CONVALESCE explain - <&-": (2, "convalesce: stdin cannot be read: Bad file descriptor."),
    "CONVALESCE report REPORT --html --out /dev/full": (
        2,
        "convalesce: /dev/full cannot be written: No space left on device.",
    ),
    "ulimit -f 0; CONVALESCE report REPORT --html --out x.html": (
        2,
        "convalesce: x.html cannot be written: File too large.",
    ),
    "CONVALESCE replay .": (2, "convalesce: . is not a file."),
}


@pytest.mark.parametrize("command", NAMED)
def test_the_true_reason_is_named(command: str, tmp_path: Path) -> None:
    done = started(command, tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == NAMED[command]
    assert not done.stdout


NOBODYS = ("scan", "scan --python ~", "fix --dry-run", "undo", "undo --list", "explain nothing", "replay REPORT")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("command", NOBODYS)
def test_an_account_without_home_and_name_can_ask(command: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    done = started(f"cd / && {NOBODY} CONVALESCE {command.replace('~', chr(39) + '~' + chr(39))}", tmp_path)
    assert done.returncode in (0, 1, 5), done.stderr
    assert done.stdout


@pytest.mark.parametrize("given", ["", "add", "add nobody", "take user", "add user more"])
def test_a_wrong_use_of_the_own_path_is_a_usage_error(given: str, tmp_path: Path) -> None:
    done = started(f"CONVALESCE --own-path {given}", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("convalesce: usage: ")


def test_the_own_path_is_changed_on_windows_only(tmp_path: Path) -> None:
    done = started("CONVALESCE --own-path add user", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Windows" in done.stderr


SHADOWS = (
    "argparse",
    "gettext",
    "gui",
    "json",
    "msgspec",
    "platformdirs",
    "resources",
    "sitecustomize",
    "subprocess",
    "zlib",
)
"""None of them is needed by ``-m`` itself, which comes before the program."""


@pytest.mark.parametrize("started_as", ["CONVALESCE", f"{sys.executable} -P -m core"])
@pytest.mark.parametrize("arguments", ["--version", "explain nothing --text-only"])
def test_modules_of_the_folder_that_it_is_started_from_are_not_run(
    arguments: str, started_as: str, tmp_path: Path
) -> None:
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('code of the current folder')")
    done = started(f"{started_as} {arguments}", tmp_path)
    assert "code of the current folder" not in done.stderr
    assert done.stdout


def test_in_safe_mode_nothing_of_that_folder_stands_for_the_program(tmp_path: Path) -> None:
    for name in ("core/__init__.py", "core/__main__.py", "runpy.py", "pkgutil.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('code of the current folder')")
    done = started(f"{sys.executable} -P -m core --version", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("convalesce ")
