"""A session that is older than a change is looked at as new programs will find the machine, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor.engine import ThisMachine
from core.doctor.repair import RepairContext
from core.host.activation_scripts import ACTIVATION_KIND
from core.host.interface import Host
from core.model.changes import Change, SetVariable, Value, insert_entry
from core.model.facts import Activation, Environment, Machine, PythonEnvironment, Renewal, Snapshot, Variable
from core.model.findings import Finding, Fix, Report
from core.model.steps import Severity, Step
from core.rules.root_cause import diagnose
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Entry, Journal
from core.transaction.session_host import NewSessionHost, merge_histories, new_session_host, without_active
from core.transaction.variable_store import LinuxVariables
from tests.host.fake import FakeHost
from tests.transaction.memory_store import MemoryWriter


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.config/environment.d").mkdir(parents=True)
    (tmp_path / "home/.config/environment.d/10.conf").write_text("CUDA_VISIBLE_DEVICES=-1\nLD_LIBRARY_PATH=/bad:/a\n")
    return tmp_path / "home"


def writer(home: Path) -> LinuxVariables:
    return LinuxVariables(str(home.parent), str(home))


def host(home: Path, **env: str) -> FakeHost:
    return FakeHost(root=home.parent, facts=Machine(system="linux"), environment=env)


def done(home: Path, *changes: Change) -> tuple[Journal, str]:
    journal = Journal(home / "state")
    outcome = execute(Plan(title="t", changes=changes), writer=writer(home), journal=journal)
    assert outcome.kind == "done", outcome
    return journal, outcome.entry


def conf(home: Path) -> str:
    return str(home / ".config/environment.d/10.conf")


def unhide(home: Path) -> SetVariable:
    return SetVariable(name="CUDA_VISIBLE_DEVICES", scope="user", at=conf(home), before=Value(text="-1"), after=None)


def test_what_was_taken_away_is_gone_for_an_older_session_and_for_no_other(home: Path) -> None:
    journal, entry = done(home, unhide(home))
    old = host(home, CUDA_VISIBLE_DEVICES="-1", X="1")
    seen = new_session_host(old, journal.entries(), writer(home).read)
    assert isinstance(seen, NewSessionHost)
    assert seen.fresh_environment() == {"X": "1"}
    assert seen.renewals == (Renewal(name="CUDA_VISIBLE_DEVICES", scope="user", at=conf(home), old="-1", new=None),)
    assert [v.name for v in seen.variables() if v.scope == "process"] == ["X"]
    new = host(home, X="1")
    assert new_session_host(new, journal.entries(), writer(home).read) is new
    other = host(home, CUDA_VISIBLE_DEVICES="0")
    assert new_session_host(other, journal.entries(), writer(home).read) is other
    assert undo(entry, writer=writer(home), journal=journal).kind == "undone"
    assert new_session_host(old, journal.entries(), writer(home).read) is old
    again = new_session_host(new, journal.entries(), writer(home).read)
    assert again.fresh_environment() == {"X": "1", "CUDA_VISIBLE_DEVICES": "-1"}


def test_what_somebody_changed_since_counts_no_more(home: Path) -> None:
    journal, _entry = done(home, unhide(home))
    Path(conf(home)).write_text("CUDA_VISIBLE_DEVICES=-1\n")
    old = host(home, CUDA_VISIBLE_DEVICES="-1")
    assert new_session_host(old, journal.entries(), writer(home).read) is old


def test_two_changes_of_one_value_follow_each_other(home: Path) -> None:
    first = SetVariable(
        name="CUDA_VISIBLE_DEVICES", scope="user", at=conf(home), before=Value(text="-1"), after=Value(text="1")
    )
    second = SetVariable(
        name="CUDA_VISIBLE_DEVICES", scope="user", at=conf(home), before=Value(text="1"), after=Value(text="0")
    )
    done(home, first)
    journal, _entry = done(home, second)
    for value in ("-1", "1", "0"):
        seen = new_session_host(host(home, CUDA_VISIBLE_DEVICES=value), journal.entries(), writer(home).read)
        assert seen.fresh_environment() == {"CUDA_VISIBLE_DEVICES": "0"}


def environment(home: Path, name: str) -> str:
    prefix = home / name
    (prefix / "bin").mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text("home = /usr\n")
    (prefix / "bin/activate").write_text("deactivate () {\n    true\n}\n")
    return str(prefix)


def steps(prefix: str, text: str) -> SetVariable:
    return SetVariable(
        name="LD_LIBRARY_PATH", scope="environment", at=prefix, after=Value(text=text, kind=ACTIVATION_KIND)
    )


def test_an_activation_counts_where_its_environment_is_active(home: Path) -> None:
    one, two = environment(home, "one"), environment(home, "two")
    _, first = done(home, steps(one, "drop /bad\nprepend /new"))
    journal, entry = done(home, steps(two, "prepend /two"))
    entries, read = journal.entries(), writer(home).read
    plain = new_session_host(host(home, LD_LIBRARY_PATH="/bad:/a"), entries, read)
    assert plain.fresh_environment() == {"LD_LIBRARY_PATH": "/bad:/a"}
    assert isinstance(plain, NewSessionHost)
    assert plain.renewals == ()
    assert plain.activations == (
        Activation(name="LD_LIBRARY_PATH", at=one, steps="drop /bad\nprepend /new", entry=first),
        Activation(name="LD_LIBRARY_PATH", at=two, steps="prepend /two", entry=entry),
    )
    active = host(home, LD_LIBRARY_PATH="/bad", VIRTUAL_ENV=two)
    assert new_session_host(active, entries, read).fresh_environment()["LD_LIBRARY_PATH"] == "/two:/bad"
    bare = new_session_host(without_active(active), entries, read)
    assert bare.fresh_environment() == {"LD_LIBRARY_PATH": "/bad"}
    activated = new_session_host(host(home, LD_LIBRARY_PATH="/two:/bad", VIRTUAL_ENV=two), entries, read)
    assert activated.fresh_environment()["LD_LIBRARY_PATH"] == "/two:/bad"
    assert isinstance(activated, NewSessionHost)
    assert activated.renewals == ()
    assert undo(entry, writer=writer(home), journal=journal).kind == "undone"
    left = new_session_host(active, journal.entries(), read)
    assert left.fresh_environment() == active.environment
    assert isinstance(left, NewSessionHost)
    assert [a.at for a in left.activations] == [one]


def test_what_an_activation_lost_since_is_not_said_to_hold(home: Path) -> None:
    one = environment(home, "one")
    journal, _entry = done(home, steps(one, "drop /bad"))
    Path(one, "bin/activate").write_text("deactivate () {\n    true\n}\n")
    there = host(home, LD_LIBRARY_PATH="/bad")
    assert new_session_host(there, journal.entries(), writer(home).read) is there


def test_windows_reads_its_registry_anew_and_needs_none_of_it(tmp_path: Path) -> None:
    memory = MemoryWriter("windows")
    change = insert_entry(None, "C:\\a", 0, "windows", name="Path", scope="user")
    journal = Journal(tmp_path / "state")
    assert execute(Plan(title="t", changes=(change,)), writer=memory, journal=journal).kind == "done"
    there = FakeHost(root=tmp_path, facts=Machine(system="windows"))
    assert new_session_host(there, journal.entries(), memory.read) is there


def test_a_history_that_is_closed_or_damaged_hides_nothing_else(home: Path, tmp_path: Path) -> None:
    journal, entry = done(home, unhide(home))
    (tmp_path / "file").write_text("")
    assert [e.id for e in merge_histories(Journal(tmp_path / "file"), journal, Journal(tmp_path / "nowhere"))] == [
        entry
    ]


@pytest.mark.parametrize(
    ("renewal", "kind", "words", "restart"),
    [
        (Renewal(name="A", old="-1"), "venv", "", "session"),
        (Renewal(name="A", scope="environment", at="/v", new="x"), "venv", "source /v/bin/activate", "terminal"),
        (Renewal(name="A", scope="environment", at="/v", new="x"), "conda", "conda activate /v", "terminal"),
    ],
)
def test_the_person_is_told_what_to_start_anew(renewal: Renewal, kind: str, words: str, restart: str) -> None:
    seen = Snapshot(
        machine=Machine(system="linux"),
        environment=Environment(variables=(Variable(name="X", value="1"),), renewed=(renewal,)),
        pythons=(PythonEnvironment(prefix="/v", kind=kind),),
    )
    [note] = [f for f in diagnose(seen) if f.id == "environment.older-session"]
    assert (note.severity.word, note.primary, note.subject) == ("note", False, "A")
    assert (note.fix.advice, note.fix.restart) == (words, restart)
    without = replace(seen, environment=replace(seen.environment, renewed=()))
    assert not [f for f in diagnose(without) if f.id == "environment.older-session"]


def test_check_again_in_the_same_window_sees_what_new_programs_get(home: Path) -> None:
    there = host(home, CUDA_VISIBLE_DEVICES="-1", HOME=str(home))
    journal = Journal(home / "state")
    shop = RepairContext(host=there, writer=writer(home), journal=journal, machine_journal=Journal(home / "all"))
    hidden = Finding(
        id="driver.hidden", cause="gpu_hidden_by_env", step=Step.DRIVER, severity=Severity.ERROR, title="Hidden.",
        fix=Fix(title="Unhide", changes=(unhide(home),)),
    )  # fmt: skip

    def look(seen: Host, _watch: Progress) -> Report:
        findings = (hidden,) if "CUDA_VISIBLE_DEVICES" in seen.fresh_environment() else ()
        return Report(snapshot=Snapshot(machine=Machine(system="linux")), findings=findings)

    engine = ThisMachine(make=lambda: shop, look=look)
    report = engine.examine(Progress())
    done = engine.apply(engine.propose(report.findings[0], report, "", Progress()), Progress())
    assert done.outcome.kind == "done", done.outcome
    # the scripted log-in still has the old value; this session is looked at with the new one
    assert [(v.way, v.holds, v.supposed) for v in done.outcome.verified_for] == [
        ("process", True, True),
        ("login", False, False),
    ]
    assert engine.examine(Progress()).findings == ()
    assert engine.undo((done.outcome.entry,), Progress()).outcome.kind == "undone"
    assert engine.examine(Progress()).findings == (hidden,)


def test_who_stops_the_look_after_an_undo_is_told_that_it_was_undone(home: Path) -> None:
    there = host(home, CUDA_VISIBLE_DEVICES="-1", HOME=str(home))
    shop = RepairContext(
        host=there, writer=writer(home), journal=Journal(home / "state"), machine_journal=Journal(home / "all")
    )
    plan = Plan(title="Unhide", changes=(unhide(home),))
    entries = []
    for changes in (plan.changes, tuple(c.inverse() for c in plan.changes)):
        done = execute(replace(plan, changes=changes), writer=shop.writer, journal=shop.journal)
        entries.append(done.entry)

    def stopped(_seen: Host, watch: Progress) -> Report:
        watch.cancel()
        watch.check()
        raise AssertionError

    engine = ThisMachine(make=lambda: shop, look=stopped)
    said = engine.undo((entries[1],), Progress())
    assert (said.outcome.kind, said.report) == ("undone", None)
    late = Progress()
    late.cancel()
    said = engine.undo((entries[0], "another", "a third"), late)
    assert (said.outcome.kind, said.outcome.notes) == ("undone", ("2 changes were left as they are.",))


# --- Windows -------------------------------------------------------------------------------------------------------------


def windows_entry(change: SetVariable, state: str = "done") -> Entry:
    return Entry(id="1", made="2026-11-28T04:00:00Z", title="t", state=state, changes=(change,))


@pytest.mark.parametrize(
    ("session", "stored", "state", "left"),
    [
        ({"PYTHONUTF8": "true", "X": "1"}, None, "done", {"X": "1"}),
        ({"PYTHONUTF8": "1"}, None, "done", {"PYTHONUTF8": "1"}),  # set in this session
        ({"PYTHONUTF8": "true"}, "true", "done", {"PYTHONUTF8": "true"}),  # somebody set it again
        ({"X": "1"}, "true", "undone", {"X": "1", "PYTHONUTF8": "true"}),
    ],
)
def test_a_session_of_windows_is_renewed_by_the_registry(
    tmp_path: Path, session: dict[str, str], stored: str | None, state: str, left: dict[str, str]
) -> None:
    kept = Variable(name="PYTHONUTF8", value=stored, scope="user", kind="REG_SZ") if stored else None
    old = OnWindows(
        root=tmp_path, facts=Machine(system="windows"), environment=session, declared=(kept,) if kept else ()
    )
    change = SetVariable(name="PYTHONUTF8", scope="user", before=Value(text="true", kind="REG_SZ"), after=None)
    seen = new_session_host(old, [windows_entry(change, state)], lambda *_a: None)
    assert {v.name: v.value for v in seen.variables() if v.scope == "process"} == left
    assert (seen is old) == (left == session)


class OnWindows(FakeHost):
    """A host whose new programs get what the registry has."""

    def fresh_environment(self) -> dict[str, str]:
        return {v.name: v.value for v in self.declared}
