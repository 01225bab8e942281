"""Children that read ahead: the scan finds what they sent, does the rest itself, and never depends on them."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.host.child import ChildAnswer
from core.host.this_host import this_host
from core.loader.earlier_reads import EarlierReads, earlier_or_new, using
from core.model.facts import Distribution, EndedImport, Machine, PythonEnvironment, Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python import imports
from core.probes.python.following import reading_children
from core.probes.python.following.read_ahead import BYTE_CODE, EXTENSIONS, FOLLOWED, KEY, Ahead, ReadAhead, read_ahead
from core.probes.python.following.search_parts import SearchParts
from core.probes.python.search.search_path import python_search_path, read_interpreter
from core.probes.sysroot import sysroot_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an environment of links")

LOOKS = ("core.probes.python.installed.unfit_extensions._unfit", "core.probes.python.installed.gone_files._unlike_files", "core.probes.python.installed.records._unfit_modules", "core.probes.python.installed.byte_code._unfit_byte_code", "core.probes.python.following.import_closure._followed")  # fmt: skip
"""What each part comes to, if nothing was kept of it."""


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files that were just made count as old enough for their times to show a change."""
    monkeypatch.setattr("core.loader.earlier_reads.SETTLED_NANOSECONDS", -(1 << 62))


def test_what_a_child_has_just_read_is_not_looked_at_again():
    child, scan = EarlierReads(), EarlierReads()
    child.keep("a", "1", "found")
    scan.take(child.news())
    with using(scan):
        assert earlier_or_new("a", "1", str, lambda: "again", holds=lambda _found: False) == "found"
    assert scan.has_news
    later = EarlierReads(scan.to_bytes())
    with using(later):
        assert earlier_or_new("a", "1", str, lambda: "again", holds=lambda _found: False) == "again"


ONE_AFTER_THE_OTHER = threading.Lock()


def environment(root: Path) -> PythonEnvironment:
    """Return an environment whose torch imports what is not there."""
    site = root / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (site / "torch").mkdir(parents=True)
    (site / "torch" / "__init__.py").write_text("import absent_module\n")
    (site / "torch-2.8.0.dist-info").mkdir()
    (site / "torch-2.8.0.dist-info" / "METADATA").write_text("Name: torch\nVersion: 2.8.0\n")
    (site / "torch-2.8.0.dist-info" / "RECORD").write_text("torch/__init__.py,,21\n")
    base = os.path.realpath(sys.executable)
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(base)
    (root / "pyvenv.cfg").write_text(f"home = {Path(base).parent}\nversion = {sys.version.split()[0]}\n")
    torch = Distribution(name="torch", version="2.8.0", location=str(site))
    return PythonEnvironment(
        prefix=str(root),
        kind="venv",
        executable=str(root / "bin" / "python"),
        site_packages=(str(site),),
        distributions=(torch,),
        ways=("--python",),
    )


def request_for(python: PythonEnvironment, folder: Path) -> ProbeRequest:
    host = this_host()
    snapshot = Snapshot(machine=host.machine(), pythons=(python,))
    return ProbeRequest(host=host, seen=snapshot, env={}, watch=Progress(), script_folder=str(folder))


def ends(python: PythonEnvironment, request: ProbeRequest, folder: Path) -> tuple[EndedImport, ...]:
    where = sysroot_of(request.host)
    interpreter = read_interpreter(python.prefix, python.executable, where)
    assert interpreter
    path = python_search_path(interpreter, {}, str(folder), where, working=str(Path.cwd()))
    return SearchParts(python, interpreter, path, request, where).ended(lambda _frameworks, _seconds: None)


def in_this_process(
    order: reading_children.Order, said: list[reading_children.Done]
) -> ChildAnswer[reading_children.Done]:
    """Answer as a child does, of which each has a cache of its own."""
    with ONE_AFTER_THE_OTHER:
        reading_children.do_parts(order, said.append)
    return ChildAnswer(events=tuple(said))


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("processors", [1, 2, 3])
def test_the_scan_does_what_no_child_does_and_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
):
    python, work = environment(tmp_path / "env"), tmp_path / "work"
    work.mkdir()
    monkeypatch.setattr(reading_children, "read_cached", lambda _name, _limit: b"")
    alone = ends(python, request_for(python, work), work)
    assert [(e.kind, e.wanted) for e in alone] == [("absent", "absent_module")]
    monkeypatch.setattr(reading_children, "ask_child", lambda _work, order, _kind, **_how: in_this_process(order, []))
    store, request = EarlierReads(), request_for(python, work)
    with using(store):
        reading_children.begin(request, processors)
        for part in (EXTENSIONS, BYTE_CODE, FOLLOWED):
            read_ahead(request).wait(part)
        done = [part for child in reading_children.PARTS_OF_CHILDREN[processors] for part in child]
        looked: list[str] = []
        for name in LOOKS:
            note_calls(monkeypatch, name, looked)
        assert ends(python, request, work) == alone
    own = {"recorded", *(part for part in (EXTENSIONS, BYTE_CODE, FOLLOWED) if part not in done)}
    parts = dict(zip(LOOKS, (EXTENSIONS, "recorded", "recorded", BYTE_CODE, FOLLOWED), strict=True))
    assert {parts[name] for name in looked} == own


@pytest.mark.usefixtures("settled")
def test_every_environment_is_read_once_before_the_scan_waits_for_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pythons, work = tuple(environment(tmp_path / name) for name in ("one", "two")), tmp_path / "work"
    work.mkdir()
    request = request_for(pythons[0], work)
    request = replace(request, seen=replace(request.seen, pythons=pythons))
    request.shared[KEY] = ReadAhead((child := Ahead((FOLLOWED, EXTENSIONS)),))
    noted: list[str] = []
    for name in LOOKS:
        note_calls(monkeypatch, name, noted)

    def wait() -> None:
        noted.append("wait")
        child.ended.set()

    monkeypatch.setattr(child, "wait", wait)
    with using(EarlierReads()):
        assert [[e.wanted for e in found.ended] for found in imports.look(request)] == [["absent_module"]] * 2
    before = [name.rpartition(".")[2] for name in noted[: noted.index("wait")]]
    assert before == ["_unlike_files", "_unfit_modules", "_unfit_byte_code"] * 2
    assert not set(before) & {name.rpartition(".")[2] for name in noted[len(before) :]}


def note_calls(monkeypatch: pytest.MonkeyPatch, name: str, noted: list[str]) -> None:
    import importlib

    module, _, function = name.rpartition(".")
    its = getattr(importlib.import_module(module), function)

    def noting(*given: Any, **named: Any) -> Any:
        noted.append(name)
        return its(*given, **named)

    monkeypatch.setattr(name, noting)


@pytest.mark.parametrize("ended", ["was killed by SIGSEGV", "could not be started"])
def test_a_child_that_fails_costs_nothing_but_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: str):
    python = environment(tmp_path)
    monkeypatch.setattr(reading_children, "ask_child", lambda *_given, **_how: ChildAnswer(ended=ended))
    request = request_for(python, tmp_path)
    with using(EarlierReads()):
        reading_children.begin(request, 4)
        assert [e.wanted for e in ends(python, request, tmp_path)] == ["absent_module"]


@pytest.mark.usefixtures("settled")
def test_a_real_child_answers_and_a_known_environment_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    python = environment(tmp_path)
    order = reading_children.Order(
        (FOLLOWED,), (python,), Machine(system="linux", home="/"), {}, str(tmp_path), str(tmp_path)
    )
    answer = reading_children.ask_child(
        reading_children.do_parts, order, reading_children.Done, host=this_host(), env=dict(os.environ), timeout=60
    )
    assert not answer.ended, answer
    assert [done.prefix for done in answer.events] == [str(tmp_path)]
    where = sysroot_of(this_host())
    asked: list[object] = []
    monkeypatch.setattr(reading_children, "ask_child", lambda *given, **_how: asked.append(given) or ChildAnswer())
    with using(EarlierReads()):
        reading_children.remember(python, where)
        reading_children.begin(request_for(python, tmp_path), 4)
        assert not asked
        (Path(python.site_packages[0]) / "new").mkdir()
        os.utime(python.site_packages[0], ns=(0, 0))
        assert not reading_children.is_known(python, where)


def test_without_a_cache_no_child_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading_children, "ask_child", lambda *_given, **_how: pytest.fail("asked"))
    request = request_for(environment(tmp_path), tmp_path)
    reading_children.begin(request, 4)
    read_ahead(request).wait(FOLLOWED)


def test_a_child_does_not_start_in_the_environment_that_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given: list[dict[str, str]] = []

    def ask(*_order: Any, env: dict[str, str], **_how: Any) -> ChildAnswer[reading_children.Done]:
        given.append(env)
        return ChildAnswer()

    monkeypatch.setattr(reading_children, "ask_child", ask)
    for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH"):
        monkeypatch.setenv(name, "/dead/share")
    request = request_for(environment(tmp_path), tmp_path)
    with using(EarlierReads()):
        reading_children.begin(request, 2)
        read_ahead(request).wait(FOLLOWED)
    assert given
    assert "/dead/share" not in {value for env in given for value in env.values()}
