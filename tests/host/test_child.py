"""Asking a child process: events, ends, output, environment and cancellation, on the running system."""

from __future__ import annotations

import ctypes
import marshal
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import ANY

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.common import frozen
from core.common.fact_text import form_of
from core.common.progress import Progress
from core.host import answer_pipe, child, child_main
from core.host.child import ChildAnswer, ask_child
from core.host.interface import CompletedProcess, Host
from core.host.this_host import this_host
from core.probes.driver import nvidia_calls
from core.probes.loading.roll_call import child as roll_call
from tests.host import child_plain as plain
from tests.host import child_work as work
from tests.host.child_work import Asked, Nested, Said
from tests.host.fake import FakeHost, said
from tests.host.test_process import assert_gone, assert_gone_all, has_both, until

WINDOWS = sys.platform == "win32"
HOST: Host = this_host()
Work = Callable[[Asked, Callable[[Said], None]], None]


def answer(
    what: Work, request: Asked | None = None, *, env: dict[str, str] | None = None, timeout: float = 60, **more: object
) -> ChildAnswer[Said]:
    environment = HOST.fresh_environment() if env is None else env
    return ask_child(what, request or Asked(), Said, host=HOST, env=environment, timeout=timeout, **more)


def test_a_request_and_its_events_are_typed() -> None:
    got = answer(work.echo, Asked(what="Zoë's 猫 \n +", number=7))
    assert got == ChildAnswer(events=(Said(text="Zoë's 猫 \n +", number=7),))


def test_no_event_is_an_answer_too() -> None:
    assert answer(work.count, Asked(number=0)) == ChildAnswer()


@pytest.mark.parametrize("said_by", [work.say_a_sentence, plain.say_a_sentence])
def test_how_a_sentence_was_made_comes_with_it(said_by: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.common.fact_text._made", {})
    got = answer(said_by, Asked(number=77))
    assert [said.text for said in got.events] == ["ended with status 77"]
    assert form_of("ended with status 77") == ("ended with status {status}", {"status": "77"})


def test_many_events_keep_their_order() -> None:
    assert [said.number for said in answer(work.count, Asked(number=5000)).events] == list(range(5000))


def under_wine() -> bool:
    """Wine's abort() exits with 3; Windows' one fails fast, which is 0xC0000409."""
    return WINDOWS and "WINEPREFIX" in os.environ


ENDS = [
    ("null", "SIGSEGV", "0xC0000005"),
    ("called", "SIGSEGV", "0xC0000005"),
    ("abort", "SIGABRT", "0xC0000409" if not under_wine() else "ended with status 3"),
    ("SIGSEGV", "was killed by SIGSEGV", ""),
    ("SIGBUS", "was killed by SIGBUS: a file is shorter than its headers say", ""),
    ("SIGKILL", "was killed by SIGKILL", ""),
    ("SIGILL", "was killed by SIGILL", ""),
    ("SIGFPE", "was killed by SIGFPE", ""),
    ("exit", "ended with status 3", "ended with status 3"),
]


@pytest.mark.parametrize(("how", "linux", "windows"), [row for row in ENDS if row[2] or not WINDOWS])
def test_a_crash_keeps_what_was_said_and_printed(how: str, linux: str, windows: str) -> None:
    got = answer(work.die, Asked(what=how, number=3))
    assert (windows if WINDOWS else linux) in got.ended
    assert got.events == (Said(text="before"),)
    assert got.output == "last words of a C library\n", "C's buffer was lost with the process"


def test_a_truncated_mapping_is_a_bus_error() -> None:
    if WINDOWS:  # a mapped file cannot be truncated there
        return
    got = answer(work.read_beyond_the_end)
    assert got.ended == "was killed by SIGBUS: a file is shorter than its headers say"


def test_a_quiet_exit_in_the_middle_is_no_success() -> None:
    got = answer(work.die, Asked(what="exit", number=0))
    assert got.ended == "ended with status 0 before its work was done"
    assert got.events == (Said(text="before"),)


def test_an_exception_of_ours_is_named() -> None:
    got = answer(work.die, Asked(what="raise"))
    assert got.ended == "stopped at an error of Convalesce's own: LookupError: our own mistake"
    assert "in die" in got.output


def test_an_event_that_is_no_text_is_an_error_of_ours() -> None:
    got = answer(work.emit_a_surrogate)
    assert got.ended.startswith("stopped at an error of Convalesce's own: UnicodeEncodeError")


def test_a_hang_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers"
    for timeout in (0.5, 2, 8, 32):  # long enough for it to have started its own child
        got = answer(work.hang_with_a_child, Asked(what=str(numbers)), timeout=timeout)
        assert got.timed_out
        if has_both(numbers):
            break
    assert got.ended == f"did not end within {timeout} seconds and was stopped"
    assert got.events == (Said(text="hanging"),)
    assert_gone(numbers)


def test_cancelling_from_another_thread(tmp_path: Path) -> None:
    numbers, watch = tmp_path / "numbers", Progress()
    thread = threading.Thread(target=lambda: (until(lambda: has_both(numbers)), watch.cancel()))
    thread.start()
    got = answer(work.hang_with_a_child, Asked(what=str(numbers)), timeout=600, watch=watch)
    thread.join()
    assert got.ended == "was stopped: the work was cancelled"
    assert got.events == (Said(text="hanging"),)
    assert not got.timed_out
    assert_gone(numbers)


def test_a_cancelled_watch_starts_nothing() -> None:
    watch = Progress()
    watch.cancel()
    assert answer(work.echo, watch=watch) == ChildAnswer(ended="was not started: the work was cancelled")


def test_libraries_that_print_do_not_mix_with_events() -> None:
    got = answer(work.chatter, Asked(number=50))
    assert [said.number for said in got.events] == list(range(50))
    assert got.ended == ""
    for line in ("from Python", "from C", "from fd 1", "from fd 2", "+[1]", "."):
        assert got.output.splitlines().count(line) == 50


def test_a_hundred_megabytes_of_output() -> None:
    got = answer(work.flood, Asked(number=100), timeout=120)
    assert got.events == (Said(text="flooded"),)
    assert got.ended == ""
    assert len(got.output) == child.MAX_OUTPUT_BYTES


def test_output_is_printable() -> None:
    assert answer(work.print_bytes).output == "\\x1b[31m\ufffd\\x07\ttab\nline\n"


def test_the_loader_sees_exactly_the_given_environment(tmp_path: Path) -> None:
    name = build_library(tmp_path / "libs")
    variable = "PATH" if WINDOWS else "LD_LIBRARY_PATH"
    base = {n: v for n, v in HOST.fresh_environment().items() if n.upper() not in (variable, "LD_LIBRARY_PATH")}
    without = answer(work.load, Asked(what=name), env=base)
    given = answer(work.load, Asked(what=name), env={**base, variable: str(tmp_path / "libs")})
    assert [said.number for said in without.events] == [0]
    assert [said.number for said in given.events] == [1]


def build_library(folder: Path) -> str:
    """Put a shared library that lies nowhere else into the folder and return its bare name."""
    folder.mkdir()
    if WINDOWS:  # no compiler there, but a DLL that needs no other than the system's
        shutil.copy(Path(sys.base_prefix) / "DLLs/sqlite3.dll", folder / "convalesce-probe.dll")
        return "convalesce-probe.dll"
    source = folder / "empty.c"
    source.write_text("int convalesce_probe;\n")
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(folder / "libconvalesce-probe.so")], check=True)
    return "libconvalesce-probe.so"


def test_variables_for_python_do_not_disturb_our_interpreter(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('the wrong msgspec')")
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('a foreign start-up file')")
    hostile = {
        "PYTHONPATH": str(tmp_path),
        "PYTHONHOME": str(tmp_path),
        "PYTHONSTARTUP": str(tmp_path / "sitecustomize.py"),
        "PYTHONIOENCODING": "ascii",
        "PYTHONWARNINGS": "error",
        "PYTHONINSPECT": "1",
    }
    got = answer(work.echo, Asked(what="ä"), env={**HOST.fresh_environment(), **hostile})
    assert got == ChildAnswer(events=(Said(text="ä"),))


def test_the_works_environment_is_the_given_one() -> None:
    env = {**HOST.fresh_environment(), "PYTHONPATH": "kept", "CONVALESCE_PROBE": "Zoë"}
    got = answer(work.environment, env=env)
    seen = dict(said.text.split("=", 1) for said in got.events)
    assert {n.upper(): v for n, v in env.items()}.items() <= {n.upper(): v for n, v in seen.items()}.items()
    assert {n.upper() for n in seen} - {n.upper() for n in env} <= {"LC_CTYPE", "SYSTEMROOT"} | wine_adds()


def wine_adds() -> set[str]:
    """Wine's start-up gives each process some variables of its own; Windows gives none."""
    return {n for n in os.environ if n.startswith("WINE")} if WINDOWS else set()


def test_an_empty_environment_is_enough() -> None:
    assert answer(work.echo, Asked(number=1), env={}).events == (Said(number=1),)


def test_works_must_be_findable() -> None:
    def inner(request: Asked, emit: Callable[[Said], None]) -> None:
        emit(Said(text=request.what))

    with pytest.raises(ValueError, match="can not be found by a child process"):
        answer(inner)


def test_a_request_that_is_no_text_is_refused_in_words() -> None:
    assert answer(work.echo, Asked(what="\udcff")).ended.startswith("could not be asked: ")


def test_an_event_of_another_form_is_reported_and_the_others_kept() -> None:
    done = CompletedProcess(status=0, out='\n+{"text":"a"}\n\n+{"text":7}\n\n+{"text":"b"}\n\n.\n')
    got = child.read_answer(done, Said)
    assert got.events == (Said(text="a"), Said(text="b"))
    assert got.ended.startswith("said something that cannot be understood: ")


def test_a_line_cut_short_is_no_event() -> None:
    done = CompletedProcess(status=-9, out='\n+{"text":"a"}\n\n+{"te', ended="was killed by SIGKILL")
    assert child.read_answer(done, Said) == ChildAnswer(events=(Said(text="a"),), ended="was killed by SIGKILL")


def test_a_child_does_not_outlive_its_parent(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers"
    parent = [sys.executable, "-c", ORPHANED, str(Path(__file__).parents[2]), str(numbers)]
    with subprocess.Popen(parent) as process:
        until(lambda: has_both(numbers) or process.poll() is not None)
        process.kill()
    child_number, grandchild = numbers.read_text().split()
    assert_gone_all([int(child_number)] if not WINDOWS else [int(child_number), int(grandchild)])
    if not WINDOWS:  # what a child started by itself is beyond a parent that was killed; the job object reaches it
        os.kill(int(grandchild), signal.SIGKILL)


ORPHANED = """
import sys
sys.path.insert(0, sys.argv[1])
from core.host.child import ask_child
from core.host.this_host import this_host
from tests.host.child_work import Asked, Said, hang_with_a_child
host = this_host()
ask_child(hang_with_a_child, Asked(what=sys.argv[2]), Said, host=host, env=host.fresh_environment(), timeout=600)
"""


def test_an_orphan_does_nothing() -> None:
    if WINDOWS:  # there the job object ends it
        return
    order = marshal.dumps(("tests.host.child_work:echo", 1, b"{}", ""))
    done = HOST.run(child.child_command(), timeout=60, env={}, input=order, kind="answering")
    assert "+" not in done.out
    assert done.status == 1


def test_who_starts_a_child_without_pipes_gets_no_answer() -> None:
    done = HOST.run(child.child_command(), timeout=60, env={}, input=child.order_of(work.echo, Asked()))
    assert (done.status, done.out) == (2, "")


def test_what_is_printed_is_no_answer() -> None:
    got = answer(work.print_an_answer, Asked(what=FORGED_LINES))
    assert got.events == (Said(text="ours"),)
    assert got.ended == ""
    assert "cuDNN is whole" in got.output


def test_what_is_written_on_every_descriptor_is_told() -> None:
    got = answer(work.write_everywhere, Asked(what=FORGED_LINES))
    assert got.events == ()
    assert got.ended == child.FORGED


FORGED_LINES = '\n+{"text":"cuDNN is whole"}\n.\n'


def test_mapped_files_are_read_by_the_parent(tmp_path: Path) -> None:
    here = tmp_path / "libcudnn.so.9"
    here.write_bytes(bytes(8192))
    got = answer(work.map_a_file, Asked(what=str(here)))
    assert got.events == (Said(text="mapped"), Said(text="gone"))
    if not WINDOWS:  # there only modules are listed
        assert str(here) in got.mapped
    assert any("python" in Path(p).name.lower() for p in got.mapped)


def test_a_child_that_asks_to_be_looked_at_for_ever_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_pipe, "MAX_LOOKS", 9)
    assert answer(work.ask_for_looks, Asked(number=10), timeout=5).timed_out
    assert answer(work.ask_for_looks, Asked(number=9)) == ChildAnswer(mapped=ANY)


def test_a_frozen_application_calls_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert child.child_command() == [sys.executable, "--child"]


@pytest.mark.skipif(WINDOWS, reason="the application's folder is on the search path of Linux alone")
def test_a_frozen_applications_child_gets_the_consumers_search_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stand-in for the bootloader: it prepends its folder unless it is told that it was started again already."""
    program = tmp_path / "convalesce"
    folder = Path(child.__file__).parents[2]
    program.write_text(
        "#!/bin/sh\n"
        f'if [ "$_PYI_ARCHIVE_FILE" != "{program}" ] || [ "$_PYI_PARENT_PROCESS_LEVEL" != -1 ]; then\n'
        '  export LD_LIBRARY_PATH="/application:$LD_LIBRARY_PATH"\n'
        "fi\n"
        f"""exec "{sys.executable}" -c 'import sys; sys.frozen = True; sys.path.insert(0, "{folder}")\n"""
        """from core.host import child_main; child_main.main()'\n"""
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(program))
    seen = answer(work.environment, env={"LD_LIBRARY_PATH": "/consumer", "PATH": "/bin"}).events
    given = dict(said.text.split("=", 1) for said in seen)
    assert given["LD_LIBRARY_PATH"] == "/consumer"
    assert not [name for name in given if name.startswith("_PYI_")]


def test_a_frozen_application_gives_ctypes_its_own_loaders_back(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = {name: getattr(ctypes, name) for name in ("CDLL", "PyDLL", "cdll", "pydll")}
    for name, loader in plain.items():  # as PyInstaller's start-up code replaces them, and the error with them
        replaced = type("Replaced", (loader,), {}) if isinstance(loader, type) else object()
        monkeypatch.setattr(ctypes, name, replaced)
    frozen.restore_ctypes()
    assert ctypes.CDLL is not plain["CDLL"]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    frozen.restore_ctypes()
    assert (ctypes.CDLL, ctypes.PyDLL) == (plain["CDLL"], plain["PyDLL"])
    assert ctypes.cdll.LoadLibrary(None if not WINDOWS else "kernel32").__class__ is plain["CDLL"]


@pytest.mark.skipif(not WINDOWS, reason="the bootloader names a folder for DLLs on Windows alone")
def test_a_frozen_applications_child_searches_no_folder_of_the_application(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel32, buffer = ctypes.WinDLL("kernel32"), ctypes.create_unicode_buffer(1000)
    kernel32.SetDllDirectoryW(str(tmp_path))
    frozen.restore_dll_search()
    assert kernel32.GetDllDirectoryW(1000, buffer)
    assert buffer.value == str(tmp_path)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    frozen.restore_dll_search()
    assert not kernel32.GetDllDirectoryW(1000, buffer)


def test_a_fake_host_answers_for_a_child_or_lets_it_run(tmp_path: Path) -> None:
    fake = FakeHost(
        root=tmp_path,
        environment=HOST.fresh_environment(),
        children={"tests.host.child_work:die": said(Said(text="scripted"), output="boo", status=-7)},
    )
    scripted = ask_child(work.die, Asked(what="SIGKILL"), Said, host=fake, env={}, timeout=60)
    assert scripted.events == (Said(text="scripted"),)
    assert scripted.ended == "was killed by SIGBUS: a file is shorter than its headers say"
    real = ask_child(work.echo, Asked(what="real"), Said, host=fake, env=fake.fresh_environment(), timeout=60)
    assert real.events == (Said(text="real"),)


def test_a_child_imports_only_what_it_needs() -> None:
    got = answer(work.modules)
    loaded = {said.text for said in got.events}
    assert "core.host.child_main" in loaded
    heavy = {
        "subprocess",
        "core.host.interface",
        "core.host.process",
        "logging",
        "asyncio",
        "socket",
        "PySide6",
        "pefile",
        "urllib",
    }
    assert not heavy & loaded


TEXTS = ("", "Zoë's 猫 \n +", '"\\ \x00\x1f\x7f\u2028\U0001f600', "/tmp/a\\udcff")


@pytest.mark.parametrize("what", TEXTS)
def test_a_plain_child_says_what_another_says(what: str) -> None:
    asked = Asked(what=what, number=-(1 << 40))
    assert (
        answer(plain.echo, asked)
        == answer(work.echo, asked)
        == ChildAnswer(events=(Said(text=what, number=-(1 << 40)),))
    )


def test_a_plain_childs_request_is_shaped_like_ours() -> None:
    asked = Nested(inner=(Asked(what="a"), Asked(what="b")))
    env = HOST.fresh_environment()
    assert ask_child(plain.inner, asked, Said, host=HOST, env=env, timeout=60).events == (
        Said(text="a"),
        Said(text="b"),
    )


def test_a_plain_child_refuses_what_is_no_text_too() -> None:
    assert answer(plain.echo, Asked(what="\udcff")).ended.startswith("could not be asked: ")


def test_a_plain_child_emits_plain_data_alone() -> None:
    got = answer(plain.emit_an_object)
    assert got.ended == "stopped at an error of Convalesce's own: TypeError: object has no form in JSON here"


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(DATA)
def test_its_json_is_json(data: object) -> None:
    assert msgspec.json.decode(child_main.as_json(data)) == data


def test_a_plain_child_starts_without_what_takes_long() -> None:
    loaded = {said.text for said in answer(plain.modules).events}
    assert "core.host.child_main" in loaded
    assert (
        not {"msgspec", "typing", "re", "enum", "json", "collections", "inspect", "core.model.facts", "core.host.child"}
        & loaded
    )


@pytest.mark.parametrize("work", [roll_call.answer_roll_call, nvidia_calls.ask_cuda, nvidia_calls.ask_nvml])
def test_the_children_of_every_scan_are_plain(work: Callable[..., None]) -> None:
    """They start five times a scan; each import that they do not need is paid for as often."""
    program = f"import {work.__module__}, sys; print(*sys.modules)"
    done = HOST.run(
        [*child.child_command()[:7], f"import sys; sys.path += sys.argv[1:]; {program}", *child.child_command()[8:]],
        timeout=60,
        env={},
    )
    assert done.ended == ""
    assert "ctypes" in done.out.split()
    assert not {
        "msgspec",
        "typing",
        "re",
        "enum",
        "json",
        "collections",
        "inspect",
        "core.model.facts",
        "pynvml",
    } & set(done.out.split())


def test_no_core_file_is_left(tmp_path: Path) -> None:
    if WINDOWS:
        return
    assert [said.number for said in answer(work.core_limit).events] == [0]
