"""A module in the way of a framework: its file gets another name, its folder goes aside, its .pth line out; all comes back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.fixes.catalogue import changes_of
from core.fixes.files import files_of_variables_back
from core.host.linux.host import LinuxHost
from core.host.with_environment import HostWithEnvironment
from core.model.changes import FileSet
from core.model.facts import GoneFile, Machine, Snapshot, Start
from core.model.findings import Finding
from core.model.remedies import GiveOtherName, Remedy, TakeOutLine
from core.model.steps import Severity, Step
from core.probes.sysroot import Sysroot, sysroot_of
from core.rehearsal.planned_host import PlannedHost
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Journal
from core.transaction.preconditions import resolve_changes
from core.transaction.variable_store import LinuxVariables
from tests.fixing.conftest import tree

SEEN = Snapshot(machine=Machine(system="linux"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "work"
    (folder / "torch").mkdir(parents=True)
    (folder / "torch/__init__.py").write_text("mine = 1\n")
    (folder / "random.py").write_text("import torch\n")
    (folder / "random.py").chmod(0o755)
    (folder / "dev.pth").write_text("# mine\n/srv/other\nimport sys; sys.path.insert(0, '/srv/dev')\n")
    return folder


def rows(work: Path) -> list[tuple[Remedy, set[str], str]]:
    """Return remedies, the names that are in the folder afterwards, and what the .pth file says."""
    pth = (work / "dev.pth").read_text()
    rename = GiveOtherName(files=((str(work / "random.py"), "my_random.py"),))
    aside = GiveOtherName(files=((str(work / "torch"), ""),))
    line = TakeOutLine(file=str(work / "dev.pth"), line=3, folder="/srv/dev")
    return [
        (rename, {"torch", "my_random.py", "dev.pth"}, pth),
        (aside, {"random.py", "dev.pth"}, pth),
        (line, {"torch", "random.py", "dev.pth"}, pth.replace("import sys", "# import sys")),
    ]


@pytest.mark.parametrize("number", range(3))
def test_what_is_in_the_way_goes_and_comes_back(number: int, work: Path, tmp_path: Path) -> None:
    remedy, names, pth = rows(work)[number]
    before = tree(work)
    writer, journal = LinuxVariables("/", str(tmp_path / "home")), Journal(tmp_path / "state")
    changes = resolve_changes(changes_of(remedy, SEEN), writer)
    done = execute(Plan(title="x", changes=changes), writer=writer, journal=journal)
    assert done.kind == "done", done
    assert {p.name for p in work.iterdir() if ".convalesce-" not in p.name} == names
    assert (work / "dev.pth").read_text() == pth
    if number == 0:
        assert (work / "my_random.py").stat().st_mode & 0o777 == 0o755
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert tree(work) == before


def test_a_name_that_is_taken_is_left(work: Path, tmp_path: Path) -> None:
    (work / "my_random.py").write_text("mine, too\n")
    before = tree(work)
    writer, journal = LinuxVariables("/", str(tmp_path / "home")), Journal(tmp_path / "state")
    changes = resolve_changes(changes_of(rows(work)[0][0], SEEN), writer)
    assert execute(Plan(title="x", changes=changes), writer=writer, journal=journal).kind == "refused"
    assert tree(work) == before


def test_another_way_of_starting_is_seen_on_the_planned_machine(work: Path) -> None:
    changes = changes_of(GiveOtherName(files=((str(work / "torch"), ""),)), SEEN)
    planned = PlannedHost(LinuxHost(environ={}), changes=changes)
    other_way = HostWithEnvironment(planned, {"PYTHONPATH": str(work)})
    assert not sysroot_of(other_way).is_folder(str(work / "torch"))
    assert sysroot_of(HostWithEnvironment(LinuxHost(environ={}))).is_folder(str(work / "torch"))


def test_what_is_supposed_to_be_gone_is_not_seen(work: Path) -> None:
    where = Sysroot(system="linux", gone=frozenset({str(work / "torch"), str(work / "random.py")}))
    assert where.names(str(work)) == ("dev.pth",)
    assert not where.is_folder(str(work / "torch"))
    assert where.text(str(work / "random.py")) is None
    assert where.is_file(str(work / "dev.pth"))


@pytest.mark.parametrize("words", [("python", "{file}"), ("python", "-u", "random.py")])
def test_what_a_service_or_a_script_starts_keeps_its_name(work: Path, words: tuple[str, ...]) -> None:
    """With another name it would no longer be found there: a fault for a fault."""
    remedy = GiveOtherName(files=((str(work / "random.py"), "my_random.py"),))
    argv = tuple(w.replace("{file}", str(work / "random.py")) for w in words)
    start = Start(id="script:x", kind="script", argv=argv, folder=str(work))
    assert not changes_of(remedy, replace(SEEN, starts=(start,)))
    assert changes_of(remedy, replace(SEEN, starts=(replace(start, argv=("python", "train.py")),)))


@pytest.mark.parametrize(("beside", "changed"), [(1, True), (2, False), (0, False)])
def test_a_file_of_variables_that_was_renamed_gets_its_name_back(work: Path, beside: int, changed: bool) -> None:
    """What a service lacks, its file may have set; the activation of an environment does not reach it. Of several none is chosen."""
    others = tuple(str(work / f"serve.env.{n}") for n in ("bak", "old"))[:beside]
    gone = GoneFile(path=str(work / "serve.env"), file="/u/serve.service", line=5, beside=others)
    start = Start(id="service:/u/serve.service", kind="service", prefix="/env", gone=(gone,))
    finding = Finding(
        id="frameworks.libraries-x", cause="cuda_not_on_search_path", step=Step.FRAMEWORKS, severity=Severity.ERROR,
        title="x", subject="/env", consumers=("python/x:/env",),
    )  # fmt: skip
    seen = replace(SEEN, starts=(start,))
    changes = files_of_variables_back(finding, seen)
    assert [c.title for c in changes if isinstance(c, FileSet)] == (
        ["Rename serve.env.bak to serve.env"] if changed else []
    )
    assert not files_of_variables_back(replace(finding, cause="module_shadowed"), seen)
    assert not files_of_variables_back(replace(finding, ways=("terminal:bash",)), seen)


def test_a_renamed_file_is_read_by_its_new_name_on_the_planned_machine(work: Path) -> None:
    changes = changes_of(GiveOtherName(files=((str(work / "random.py"), "my_random.py"),)), SEEN)
    changes = resolve_changes(changes, LinuxVariables("/", str(work)))
    where = sysroot_of(PlannedHost(LinuxHost(environ={}), changes=changes))
    assert where.text(str(work / "my_random.py"), 1 << 10) == "import torch\n"
    assert where.is_file(str(work / "my_random.py"))
    assert not where.is_file(str(work / "random.py"))
