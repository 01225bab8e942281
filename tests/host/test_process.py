"""Running programs: what is killed, how much is kept, and that nobody waits for strangers."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.host.interface import ProgramKind
from core.host.process import MAX_STREAM_BYTES, run_program

PYTHON = sys.executable


def python(code: str) -> list[str]:
    return [PYTHON, "-I", "-c", code]


def test_output_beyond_the_limit_is_dropped_but_read() -> None:
    done = run_program(
        python("import os\nfor _ in range(1600): os.write(1, b'x' * 65536)\nos.write(2, b'end')"), timeout=120
    )
    assert done.status == 0, "the program was not blocked by a full pipe"
    assert len(done.out) == MAX_STREAM_BYTES
    assert done.err == "end"


def test_a_program_that_does_not_read_its_input() -> None:
    done = run_program(python("print('done')"), timeout=60, input=b"x" * (8 << 20))
    assert (done.status, done.out.strip()) == (0, "done")


FAMILY = """
import os, subprocess, sys
sleeper = "import threading; threading.Event().wait()"
child = subprocess.Popen([sys.executable, "-I", "-c", sleeper])
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
print("ready", flush=True)
"""


def family(tmp_path: Path, then: str) -> tuple[list[str], Path]:
    """A program that starts another one, writes both numbers to a file, and then does something."""
    return [PYTHON, "-I", "-c", FAMILY + then, str(tmp_path / "numbers")], tmp_path / "numbers"


def is_alive(number: int) -> bool:
    """Whether a process still runs (a zombie that nobody collected does not)."""
    if sys.platform == "win32":
        import _winapi

        try:
            handle = _winapi.OpenProcess(0x1000, False, number)
        except OSError:
            return False
        try:
            return _winapi.GetExitCodeProcess(handle) == 259
        finally:
            _winapi.CloseHandle(handle)
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_gone(numbers: Path) -> None:
    alive = [int(n) for n in numbers.read_text().split()]
    assert len(alive) == 2
    assert_gone_all(alive)


def assert_gone_all(numbers: list[int]) -> None:
    until(lambda: not any(is_alive(n) for n in numbers))


def has_both(numbers: Path) -> bool:
    return numbers.exists() and len(numbers.read_text().split()) == 2


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does; only a failure waits to the end."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_a_time_out_kills_descendants_too(tmp_path: Path) -> None:
    argv, numbers = family(tmp_path, "child.wait()")
    for timeout in (0.5, 2, 8, 32):  # long enough for it to have started its own child
        done = run_program(argv, timeout=timeout)
        assert done.timed_out
        assert done.ended == f"did not end within {timeout} seconds and was stopped"
        if has_both(numbers) and done.out:
            break
    assert done.out.strip() == "ready", "what was said before is kept"
    assert_gone(numbers)


def test_what_a_program_leaves_behind_is_killed(tmp_path: Path) -> None:
    argv, numbers = family(tmp_path, "")
    done = run_program(argv, timeout=600)
    assert (done.status, done.out.strip()) == (0, "ready")
    assert_gone(numbers)


def test_cancelling_from_another_thread_ends_it(tmp_path: Path) -> None:
    argv, numbers = family(tmp_path, "child.wait()")
    watch = Progress()
    thread = threading.Thread(target=lambda: (until(lambda: has_both(numbers)), watch.cancel()))
    thread.start()
    done = run_program(argv, timeout=600, watch=watch)
    thread.join()
    assert done.ended == "was stopped: the work was cancelled"
    assert not done.timed_out
    assert_gone(numbers)


@pytest.mark.parametrize("argv", [["a\0b"], [PYTHON, "a\0b"], [""]])
def test_arguments_that_no_system_takes(argv: list[str]) -> None:
    done = run_program(argv, timeout=5)
    assert done.status is None
    assert done.ended.startswith("could not be started: ")


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    assert run_program([str(tmp_path)], timeout=5).ended.startswith("could not be started: ")


def test_a_text_file_is_no_program(tmp_path: Path) -> None:
    file = tmp_path / "tool.exe"
    file.write_text("<html>not found</html>")
    file.chmod(0o755)
    assert run_program([str(file)], timeout=5).ended.startswith("could not be started: ")


@pytest.mark.skipif(sys.platform == "win32", reason="sessions are POSIX")
def test_a_daemon_that_keeps_the_pipe_open_is_not_waited_for(tmp_path: Path) -> None:
    code = "import os, subprocess, sys; subprocess.Popen([sys.executable, '-I', '-c', sys.argv[1]], start_new_session=True)"
    numbers = tmp_path / "numbers"
    sleeper = f"import os, threading; open({str(numbers)!r}, 'w').write(str(os.getpid())); threading.Event().wait()"
    assert run_program([*python(code), sleeper], timeout=600).status == 0
    until(lambda: numbers.exists() and bool(numbers.read_text()))
    os.kill(int(numbers.read_text()), signal.SIGKILL)


ESCAPES = """
import os, sys
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(0), os.close(1), os.close(2)
        with open(sys.argv[1], "w") as numbers:
            numbers.write(f"{os.getpid()} {os.getpid()}")
        os.write(writer, b"!")
        import threading
        threading.Event().wait()
    os._exit(0)
os.wait()
os.read(reader, 1)
print(open("/proc/self/status").read())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a job has no way out")
@pytest.mark.parametrize("kind", ["tool", "interpreter"])
def test_a_tool_gains_nothing_and_leaves_nothing_behind(tmp_path: Path, kind: ProgramKind) -> None:
    numbers = tmp_path / "numbers"
    done = run_program([*python(ESCAPES), str(numbers)], timeout=60, kind=kind)
    assert done.status == 0
    assert "\nNoNewPrivs:\t1\n" in done.out
    assert_gone(numbers)


@pytest.mark.skipif(sys.platform == "win32", reason="a job has no way out")
def test_a_tools_end_ends_nothing_else_of_ours(tmp_path: Path) -> None:
    """A child of ours in the sandbox has no privileges either; it is known by having been started here."""
    going, stop = tmp_path / "going", Progress()
    ours = python(f"import ctypes, threading; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); open({str(going)!r}, 'w'); threading.Event().wait()")  # fmt: skip
    ended: list[str] = []
    thread = threading.Thread(target=lambda: ended.append(run_program(ours, timeout=60, watch=stop).ended))
    thread.start()
    until(going.exists)
    assert run_program(python("pass"), timeout=60, kind="tool").status == 0
    assert ended == []
    stop.cancel()
    thread.join()
    assert ended == ["was stopped: the work was cancelled"]


@pytest.mark.skipif(sys.platform == "win32", reason="there a tool is a program like others")
def test_a_tool_that_is_not_there() -> None:
    assert run_program(["/nowhere/nvcc"], timeout=5, kind="tool").ended.startswith("could not be started: ")
