"""Rehearsal: the machine as it would be, seen by the real roll call; and nothing of it remains."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.host.activation_scripts import ACTIVATION_KIND, apply_steps
from core.host.interface import Host
from core.host.this_host import this_host
from core.model.changes import Change, FileItem, FileSet, SetVariable, Value, insert_entry
from core.model.facts import (
    Attempt,
    CudnnCopy,
    How,
    Load,
    Machine,
    Mapped,
    ProbeError,
    Resolution,
    RollCall,
    Snapshot,
    Unexamined,
    Variable,
)
from core.model.facts import Consumer as Program
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.probes.sysroot import sysroot_of
from core.rehearsal import rehearse
from core.rehearsal.files import overlay_environment
from core.rehearsal.planned_host import PlannedHost
from core.rules.ways import THIS_SESSION
from core.transaction.preconditions import resolve_changes
from core.transaction.variable_store import LinuxVariables
from tests import standin
from tests.fixing.conftest import item, tree
from tests.fixing.test_activation import run
from tests.host.fake import FakeHost
from tests.transaction.memory_store import MemoryWriter

CURED = Finding(id="a.b", cause="c", step=Step.CUDNN, severity=Severity.ERROR, title="It is broken.", subject="/x")


def report(*findings: Finding, **sections: object) -> Report:
    return Report(snapshot=Snapshot(machine=Machine(system="linux"), **sections), findings=findings)


def never(_host: Host) -> Report:
    raise AssertionError("this rehearsal needs no second look")


# --- the supposed host ---------------------------------------------------------------------------------------------


def fake(tmp_path: Path, system: str = "linux", *declared: Variable, **env: str) -> FakeHost:
    return FakeHost(root=tmp_path, facts=Machine(system=system), environment=env, declared=declared)


def test_variables_are_as_they_would_be_on_linux(tmp_path: Path) -> None:
    conf = Variable(name="CUDA_VISIBLE_DEVICES", value="-1", scope="user", source="/c.conf")
    host = fake(
        tmp_path, "linux", conf, CUDA_VISIBLE_DEVICES="-1", CUDA_HOME="/old", LD_LIBRARY_PATH="/bad:/a", KEEP="1"
    )
    changes: tuple[Change, ...] = (
        SetVariable(name="CUDA_VISIBLE_DEVICES", scope="user", at="/c.conf", before=Value(text="-1"), after=None),
        SetVariable(name="CUDA_HOME", scope="machine", before=Value(text="/other"), after=Value(text="/new")),
        SetVariable(name="LD_LIBRARY_PATH", scope="environment", at="/v", after=Value(text="drop /bad\nprepend /new", kind=ACTIVATION_KIND)),
    )  # fmt: skip
    seen = PlannedHost(host, changes=changes, moved={"/new": "/overlay/0"})
    assert seen.fresh_environment() == {"CUDA_HOME": "/old", "LD_LIBRARY_PATH": "/overlay/0:/a", "KEEP": "1"}
    names = {(v.name, v.scope): v.value for v in seen.variables()}
    assert ("CUDA_VISIBLE_DEVICES", "user") not in names
    assert names["LD_LIBRARY_PATH", "process"] == "/overlay/0:/a"


def test_variables_are_as_they_would_be_on_windows(tmp_path: Path) -> None:
    path = Variable(name="Path", value="C:\\a", scope="user", kind="REG_EXPAND_SZ", source="HKCU\\Environment")
    whole = Variable(name="Path", value="C:\\Windows", scope="machine", kind="REG_EXPAND_SZ", source="HKLM")
    host = fake(tmp_path, "windows", path, whole)
    before = Value(text="C:\\a", kind="REG_EXPAND_SZ")
    change = insert_entry(before, "C:\\cudnn\\bin", 0, "windows", name="Path", scope="user")
    env = PlannedHost(host, changes=(change,)).fresh_environment()
    assert next(v for n, v in env.items() if n.upper() == "PATH") == "C:\\Windows;C:\\cudnn\\bin;C:\\a"
    new = SetVariable(name="CUDA_PATH", scope="user", after=Value(text="C:\\CUDA", kind="REG_SZ"))
    env = PlannedHost(host, changes=(new,)).fresh_environment()
    assert next(v for n, v in env.items() if n.upper() == "CUDA_PATH") == "C:\\CUDA"


@pytest.mark.parametrize(("session", "left"), [("true", None), ("1", "1")])
def test_a_removed_variable_is_gone_from_a_session_that_got_it_from_the_registry(
    tmp_path: Path, session: str, left: str | None
) -> None:
    kept = Variable(name="PYTHONUTF8", value="true", scope="user", kind="REG_SZ", source="HKCU")
    other = Variable(name="X", value="1", scope="machine", kind="REG_SZ", source="HKLM")
    host = fake(tmp_path, "windows", kept, other, PYTHONUTF8=session)
    change = SetVariable(name="PYTHONUTF8", scope="user", before=Value(text="true", kind="REG_SZ"), after=None)
    seen = PlannedHost(host, changes=(change,)).variables()
    assert next((v.value for v in seen if v.name == "PYTHONUTF8"), None) == left


def test_a_path_that_the_user_did_not_have_gets_every_folder_on_windows(tmp_path: Path) -> None:
    first = insert_entry(None, "C:\\one", 0, "windows", name="Path", scope="user")
    second = insert_entry(first.after, "C:\\two", 1, "windows", name="Path", scope="user")
    host = fake(tmp_path, "windows")
    (path,) = [v for v in PlannedHost(host, changes=(first, second)).variables() if v.name.upper() == "PATH"]
    assert path.value == "C:\\one;C:\\two"


def test_children_get_the_supposed_environment(tmp_path: Path) -> None:
    gone = SetVariable(
        name="LD_LIBRARY_PATH", scope="environment", at="/v", after=Value(text="unset", kind=ACTIVATION_KIND)
    )
    seen = PlannedHost(this_host(), changes=(gone,))
    done = seen.run([sys.executable, "-c", "import os; print('LD_LIBRARY_PATH' in os.environ)"], timeout=20)
    assert done.out.strip() == "False"


# --- the verdict ---------------------------------------------------------------------------------------------------


def test_a_finding_that_is_gone_works_and_says_what_was_loaded() -> None:
    roll = RollCall(
        library="libcudnn.so.9", mapped=(Mapped(path="/o/0/libcudnn.so.9", name="libcudnn.so.9", origin="x"),)
    )
    load = Load(consumer=Program(id="plain", kind="plain", label="any"), major=9, roll_call=roll)
    said = rehearse.compare_reports(CURED, report(CURED), report(loads=(load,)), {"/o/0": "/opt/cudnn"})
    assert said.works is True
    assert said.sentence == "Rehearsed on this machine: works. cuDNN was loaded from /opt/cudnn."
    assert [(m.path, m.origin) for m in said.loaded] == [("/opt/cudnn/libcudnn.so.9", "x")]


def test_a_finding_that_stays_or_another_that_comes_does_not_work() -> None:
    assert rehearse.compare_reports(CURED, report(CURED), report(CURED)).works is False
    other = Finding(id="n.w", cause="", step=Step.CUDNN, severity=Severity.ERROR, title="Another.", subject="/y")
    said = rehearse.compare_reports(CURED, report(CURED), report(other))
    assert (said.works, "Another." in said.sentence) == (False, True)
    assert rehearse.compare_reports(CURED, report(CURED, other), report(other)).works is True


@pytest.mark.parametrize(
    ("before", "after", "works"),
    [
        ((), (), False),
        ((), ("this session", "ssh:bash"), False),
        ((), ("activation:/v",), True),  # examined by itself
        (("cron:ada", "ssh:bash"), ("ssh:bash",), False),
        (("cron:ada",), ("ssh:bash",), True),
    ],
)
def test_a_finding_stays_where_a_way_that_it_is_about_has_it(
    before: tuple[str, ...], after: tuple[str, ...], works: bool
) -> None:
    one, other = (
        replace(CURED, ways=tuple(THIS_SESSION if w == "this session" else w for w in ways)) for ways in (before, after)
    )
    assert rehearse.compare_reports(one, report(one), report(other)).works is works


@pytest.mark.parametrize(
    ("probe", "step", "earlier", "works"),
    [
        ("loads", Step.CUDNN, "", None),
        ("imports", Step.FRAMEWORKS, "", None),
        ("imports", Step.FRAMEWORKS, "imports", True),  # what found the fault did not need it
        ("imports", Step.CUDNN, "", True),
    ],
)
def test_what_could_not_be_looked_at_is_not_decided(probe: str, step: Step, earlier: str, works: bool | None) -> None:
    def failed(name: str) -> tuple[ProbeError, ...]:
        return (ProbeError(probe=name, kind="time-out", message="It gave no answer in time."),) if name else ()

    fault = replace(CURED, step=step)
    said = rehearse.compare_reports(fault, report(fault, errors=failed(earlier)), report(errors=failed(probe)))
    assert said.works is works


@pytest.mark.parametrize(("late", "works"), [("/v", None), ("/other", True)])
def test_an_import_that_was_not_followed_to_its_end_is_not_decided(late: str, works: bool | None) -> None:
    fault = replace(CURED, id="frameworks.import-ends-numpy", step=Step.FRAMEWORKS, consumers=("python/torch:/v",))
    after = report(unexamined=(Unexamined(path=late, what="imports"),))
    assert rehearse.compare_reports(fault, report(fault), after).works is works


# --- overlays ------------------------------------------------------------------------------------------------------


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "machine"
    for name, version in (("good", "9.1.0"), ("mine", "9.1.0"), ("other", "9.10.2")):
        (root / name).mkdir(parents=True)
        standin.build_cudnn(root / name, version, cuda=12)
    (root / "mine/libcudnn_ops.so.9").unlink()
    return root


def completed(root: Path, donor: str) -> FileSet:
    return FileSet(title="t", items=(item(root, "mine/libcudnn_ops.so.9", f"{donor}/libcudnn_ops.so.9"),))


@pytest.mark.parametrize(("donor", "works"), [("good", True), ("other", False)])
def test_a_completed_set_is_called_in_an_overlay(broken: Path, donor: str, works: bool) -> None:
    before = tree(broken)
    snapshot = report(CURED, cudnn=(CudnnCopy(folder=str(broken / "mine"), origin="folder", major=9),))
    change = completed(broken, donor)
    said = rehearse.rehearse(CURED, snapshot, (change,), host=this_host(), watch=Progress(), examine=never)
    assert said.works is works, said
    assert tree(broken) == before
    if works:
        assert {Path(m.path).parent for m in said.loaded if "cudnn" in m.name} == {broken / "mine"}


def test_overlays_leave_nothing_behind_and_reach_no_original(broken: Path, tmp_path: Path) -> None:
    before = tree(broken)
    with rehearse.planned_folders((completed(broken, "good"),)) as made:
        overlay = Path(made[str(broken / "mine")])
        assert sorted(p.name for p in overlay.iterdir()) == sorted(p.name for p in (broken / "good").iterdir())
        (overlay / "libcudnn.so.9").unlink()
    assert not overlay.exists()
    assert tree(broken) == before


def test_a_link_to_itself_is_no_obstacle_to_an_overlay(broken: Path) -> None:
    loop = broken / "mine" / "libcudnn_adv.so.9"
    loop.unlink(missing_ok=True)
    loop.symlink_to(loop.name)
    with rehearse.planned_folders((completed(broken, "good"),)) as made:
        overlay = Path(made[str(broken / "mine")])
        assert (overlay / "libcudnn_ops.so.9").read_bytes() == (broken / "good/libcudnn_ops.so.9").read_bytes()


def test_a_set_that_is_placed_anew_is_looked_at_where_it_waits(broken: Path) -> None:
    target = broken / "own/lib"
    source = broken / "good/libcudnn.so.9"
    files = FileSet(title="t", folders=(str(broken / "own"), str(target)), items=(FileItem(path=str(target / "libcudnn.so.9"), after="?", source=str(source)),))  # fmt: skip
    steps = SetVariable(
        name="LD_LIBRARY_PATH",
        scope="environment",
        at="/v",
        after=Value(text=f"prepend {target}", kind=ACTIVATION_KIND),
    )
    changes = (*resolve_changes((files,), MemoryWriter("linux")), steps)
    waiting: list[Path] = []

    def examine(host: Host) -> Report:
        folder = Path(host.fresh_environment()["LD_LIBRARY_PATH"].split(":")[0])
        waiting.append(folder)
        assert (folder / "libcudnn.so.9").read_bytes() == source.read_bytes()
        return report()

    said = rehearse.rehearse(CURED, report(CURED), changes, host=this_host(), watch=Progress(), examine=examine)
    assert said.works is True
    assert not waiting[0].exists()
    assert not target.exists()


def test_a_quarantine_alone_is_not_decided_beforehand(broken: Path) -> None:
    change = FileSet(title="t", items=(item(broken, "other/libcudnn.so.9"),))
    said = rehearse.rehearse(CURED, report(CURED), (change,), host=this_host(), watch=Progress(), examine=never)
    assert said.works is None


# --- activations ----------------------------------------------------------------------------------------------------

STEPS = ("unset", "set /x", "prepend /new", "drop /bad", "drop /bad\nprepend /new", "prepend /new\ndrop /a", "drop /a/")


@pytest.mark.parametrize("steps", STEPS)
def test_steps_do_in_python_what_a_shell_makes_of_them(tmp_path: Path, steps: str) -> None:
    prefix = Path(os.path.realpath(tmp_path)) / "venv"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text("home = /usr\n")
    (prefix / "bin/activate").write_text("deactivate () {\n    true\n}\n")
    LinuxVariables("/", str(tmp_path)).write(
        "LD_LIBRARY_PATH", "environment", str(prefix), Value(text=steps, kind=ACTIVATION_KIND)
    )
    for value in (
        None,
        "",
        ":",
        "/bad",
        "/bad/",
        ":/bad",
        "/bad:",
        "/a:/bad:/b",
        "/bad:/bad:/a/",
        "/badly:/x/bad",
        "/a::/bad",
        "/a;/bad;/b:/c",
        "/bad;",
        ";/bad/;;/a",
    ):
        env = {} if value is None else {"LD_LIBRARY_PATH": value}
        [shown] = run("sh", f". '{prefix}/bin/activate'; echo \"${{LD_LIBRARY_PATH-none}}\"", **env)
        expected = apply_steps("LD_LIBRARY_PATH", steps, value)
        assert shown == ("none" if expected is None else expected), (steps, value)


def test_an_overlay_stands_where_a_search_path_names_its_folder() -> None:
    env = {"Path": r"C:\a;c:\CUDNN\bin\;C:\b", "LD_LIBRARY_PATH": "kept", "X": r"C:\cudnn\bin"}
    assert overlay_environment(env, r"C:\cudnn\bin", r"C:\tmp\0", "windows") == {**env, "Path": r"C:\a;C:\tmp\0;C:\b"}
    assert overlay_environment({"PATH": r"C:\a"}, r"C:\cudnn\bin", r"C:\tmp\0", "windows") == {"PATH": r"C:\tmp\0;C:\a"}
    env = {"PATH": "/bin", "LD_LIBRARY_PATH": "/opt/cudnn/lib:/x", "Path": "as it is"}
    assert overlay_environment(env, "/opt/cudnn/lib", "/tmp/0", "linux")["LD_LIBRARY_PATH"] == "/tmp/0:/x"
    assert overlay_environment({"PATH": "/bin"}, "/opt/cudnn/lib", "/tmp/0", "linux") == {"PATH": "/bin"}


# --- what is put aside ---------------------------------------------------------------------------------------------


def found_in(root: Path, *names: str) -> Report:
    """A report of a program that finds libcudnn.so.9 in these folders, in this order."""
    attempts = tuple(Attempt(path=str(root / n / "libcudnn.so.9"), how=How.LD_CACHE, outcome="found") for n in names)
    search = Resolution(name="libcudnn.so.9", attempts=attempts)
    load = Load(consumer=Program(id="plain", kind="plain", label="any"), major=9, resolutions=(search,))
    return report(CURED, loads=(load,))


@pytest.mark.parametrize(
    ("order", "works", "words"),
    [
        (("other", "good"), True, "by full path"),
        (("other", "mine", "good"), False, "does not work"),
        (("other",), False, "no cuDNN is found"),
        (("good", "other"), None, "without doing it"),
    ],
    ids=["a sound one follows", "a broken one follows", "none follows", "it is not what is loaded"],
)
def test_a_stray_copy_is_rehearsed_by_who_comes_next(
    broken: Path, order: tuple[str, ...], works: bool | None, words: str
) -> None:
    before = tree(broken)
    stray = tuple(item(broken, f"other/{p.name}") for p in sorted((broken / "other").iterdir()))
    change = FileSet(title="t", items=stray)
    said = rehearse.rehearse(
        CURED, found_in(broken, *order), (change,), host=this_host(), watch=Progress(), examine=never
    )
    assert (said.works, words in said.sentence) == (works, True), said
    assert tree(broken) == before
    if works:
        assert {Path(m.path).parent for m in said.loaded if "cudnn" in m.name} == {broken / "good"}


def test_the_parts_of_a_stray_copy_that_is_found_first_do_not_answer_for_the_next(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every part is loaded by its full path before the main library asks for it by name."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(broken / "other"))
    stray = tuple(item(broken, f"other/{p.name}") for p in sorted((broken / "other").iterdir()))
    change = FileSet(title="t", items=stray)
    said = rehearse.rehearse(
        CURED, found_in(broken, "other", "good"), (change,), host=this_host(), watch=Progress(), examine=never
    )
    assert said.works is True, said
    assert not [m for m in said.loaded if str(broken / "other") in m.path]


def test_a_stray_part_is_rehearsed_by_the_set_that_is_found_without_it(broken: Path) -> None:
    def search(name: str, folder: str) -> Resolution:
        attempt = Attempt(path=str(broken / folder / name), how=How.LD_CACHE, outcome="found")
        return Resolution(name=name, attempts=(attempt,))

    searches = (search("libcudnn.so.9", "good"), search("libcudnn_ops.so.9", "other"))
    load = Load(consumer=Program(id="plain", kind="plain", label="any"), major=9, resolutions=searches)
    change = FileSet(title="t", items=(item(broken, "other/libcudnn_ops.so.9"),))
    said = rehearse.rehearse(
        CURED, report(CURED, loads=(load,)), (change,), host=this_host(), watch=Progress(), examine=never
    )
    assert said.works is True, said
    assert {Path(m.path).parent for m in said.loaded if "cudnn" in m.name} == {broken / "good"}


def test_a_cache_is_rehearsed_with_an_empty_folder_in_its_place(tmp_path: Path) -> None:
    cache = tmp_path / "ComputeCache"
    cache.mkdir()
    change = FileSet(title="t", items=(FileItem(path=str(cache), before="folder", after=""),))
    folders: list[Path] = []

    def examine(host: Host) -> Report:
        folders.append(Path(host.fresh_environment()["CUDA_CACHE_PATH"]))
        assert list(folders[-1].iterdir()) == []
        (folders[-1] / "index").write_bytes(b"the driver's own")
        return report()

    said = rehearse.rehearse(CURED, report(CURED), (change,), host=this_host(), watch=Progress(), examine=examine)
    assert (said.works, "CUDA_CACHE_PATH" in said.sentence) == (True, True)
    assert not folders[0].exists()
    said = rehearse.rehearse(
        CURED, report(CURED), (change,), host=this_host(), watch=Progress(), examine=lambda _h: report(CURED)
    )
    assert said.works is False


def test_a_hook_is_seen_by_who_lists_and_reads_its_folder(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "other.pth").write_text("import sys\n")
    path = str(site / "convalesce_cuda.pth")
    change = FileSet(title="t", items=(FileItem(path=path, after="?", text="import os\n"),))
    seen: list[tuple[object, object]] = []

    def examine(host: Host) -> Report:
        where = sysroot_of(host)
        seen.append((where.names(str(site)), where.text(path)))
        return report()

    said = rehearse.rehearse(CURED, report(CURED), (change,), host=this_host(), watch=Progress(), examine=examine)
    assert said.works is True
    assert seen == [(("convalesce_cuda.pth", "other.pth"), "import os\n")]
    assert not Path(path).exists()


def test_windows_folders_are_told_in_their_own_form() -> None:
    loaded = tuple(
        Mapped(path=f"C:\\Program Files\\NVIDIA\\{n}", name=n) for n in ("cudnn64_9.dll", "cudnn_ops64_9.dll")
    )
    roll = RollCall(library="cudnn64_9.dll", mapped=loaded)
    load = Load(consumer=Program(id="plain", kind="plain", label="any"), major=9, roll_call=roll)
    said = rehearse.compare_reports(CURED, report(CURED), report(loads=(load,)))
    assert said.sentence == "Rehearsed on this machine: works. cuDNN was loaded from C:\\Program Files\\NVIDIA."
