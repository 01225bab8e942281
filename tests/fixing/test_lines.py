"""Editing the very line: what becomes of it in each format, and that everything else stays, byte for byte."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor import repair
from core.doctor.examine import diagnose_snapshot
from core.doctor.repair import RepairContext
from core.doctor.scan import PROBES, take_snapshot
from core.fixes.lines import _rows
from core.host.interface import Host
from core.host.linux.host import LinuxHost
from core.host.policy import Policy
from core.host.startup.edit import Edit, edit_text
from core.model.changes import ChangeError, EditLine
from core.model.facts import LineForm, Start, StartLine
from core.model.findings import Report
from core.model.remedies import Place, PreferFolder, TakeOut
from core.transaction.broker import closed_list
from core.transaction.broker.ground import RealGround
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Entry, Journal
from core.transaction.line_edit import is_edit_in_place, value_after
from core.transaction.preconditions import resolve_changes
from core.transaction.session_host import NewSessionHost
from core.transaction.variable_store import LinuxVariables

L = "LD_LIBRARY_PATH"
A, B = "/opt/a", "/opt/b"

OUT: list[tuple[LineForm, str, str]] = [
    ("posix", "export LD_LIBRARY_PATH=/opt/a", "# export LD_LIBRARY_PATH=/opt/a"),
    ("posix", "  export LD_LIBRARY_PATH=/opt/a  # mine", "  : # export LD_LIBRARY_PATH=/opt/a  # mine"),
    ("posix", 'export LD_LIBRARY_PATH="/opt/a:$LD_LIBRARY_PATH"', '# export LD_LIBRARY_PATH="/opt/a:$LD_LIBRARY_PATH"'),
    ("posix", "LD_LIBRARY_PATH=/opt/a; export LD_LIBRARY_PATH", "# LD_LIBRARY_PATH=/opt/a; export LD_LIBRARY_PATH"),
    ("posix", "[ -d /opt/a ] && export LD_LIBRARY_PATH=/opt/a", "[ -d /opt/a ] && :"),
    ("posix", "if true; then export LD_LIBRARY_PATH=/opt/a; fi", "if true; then :; fi"),
    ("posix", "export X=1 LD_LIBRARY_PATH=/opt/a Y=2", "export X=1 Y=2"),
    ("posix", 'exec env -u X LD_LIBRARY_PATH=/opt/a Y=2 "$@"', 'exec env -u X Y=2 "$@"'),
    ("posix", '"serve": "env LD_LIBRARY_PATH=/opt/a ./serve",', '"serve": "env ./serve",'),
    ("posix", "export LD_LIBRARY_PATH=/opt/a Y=2", "export Y=2"),
    ("posix", "export LD_LIBRARY_PATH=/opt/a:\\\n/opt/a", "# export LD_LIBRARY_PATH=/opt/a:\\\n# /opt/a"),
    ("posix", "export A=1; export LD_LIBRARY_PATH=/opt/a; ls", "export A=1; :; ls"),
    ("posix", "cd /w && LD_LIBRARY_PATH=/opt/a ./program", "cd /w && ./program"),
    ("posix", "    cmd: LD_LIBRARY_PATH=/opt/a A=1 python main.py", "    cmd: A=1 python main.py"),
    ("posix", "    cmd: LD_LIBRARY_PATH=/opt/a python main.py", "    cmd: python main.py"),
    ("posix", "  - LD_LIBRARY_PATH=/opt/a python main.py", "  - python main.py"),
    ("posix", "ld_library_path=(/opt/a $ld_library_path)", "# ld_library_path=(/opt/a $ld_library_path)"),
    ("posix", "ld_library_path+=(/opt/a)", "# ld_library_path+=(/opt/a)"),
    ("fish", "set -gx LD_LIBRARY_PATH /opt/a $LD_LIBRARY_PATH", "# set -gx LD_LIBRARY_PATH /opt/a $LD_LIBRARY_PATH"),
    ("fish", "test -d /opt; and set -gx LD_LIBRARY_PATH /opt/a", "test -d /opt; and true"),
    ("assignments", "LD_LIBRARY_PATH=/opt/a", "# LD_LIBRARY_PATH=/opt/a"),
    ("assignments", 'LD_LIBRARY_PATH="/opt/a"', '# LD_LIBRARY_PATH="/opt/a"'),
    ("crontab", "LD_LIBRARY_PATH = /opt/a", "# LD_LIBRARY_PATH = /opt/a"),
    ("systemd", "Environment=LD_LIBRARY_PATH=/opt/a", "# Environment=LD_LIBRARY_PATH=/opt/a"),
    ("systemd", 'Environment="A=1" LD_LIBRARY_PATH=/opt/a B=2', 'Environment="A=1" B=2'),
    ("systemd", 'Environment="LD_LIBRARY_PATH=/opt/a" "B=2"', 'Environment="B=2"'),
    ("json", '"LD_LIBRARY_PATH": "/opt/a", "B": "2"', '"B": "2"'),
    ("json", '{"A": "1", "LD_LIBRARY_PATH": "/opt/a"}', '{"A": "1"}'),
    ("json", '{"LD_LIBRARY_PATH": "/opt/a"}', "{}"),
    ("cmd", 'set "LD_LIBRARY_PATH=/opt/a"', 'rem set "LD_LIBRARY_PATH=/opt/a"'),
    ("pth", "/opt/a", "# /opt/a"),
    ("pth", "import sys; sys.path.insert(0, '/opt/a')", "# import sys; sys.path.insert(0, '/opt/a')"),
]
LESS: list[tuple[LineForm, str, tuple[str, ...], str]] = [
    ("posix", "export LD_LIBRARY_PATH=/opt/a:/opt/b", (A, B), "export LD_LIBRARY_PATH=/opt/b"),
    (
        "posix",
        'export LD_LIBRARY_PATH="/opt/b:/opt/a:$LD_LIBRARY_PATH"',
        (B, A),
        'export LD_LIBRARY_PATH="/opt/b:$LD_LIBRARY_PATH"',
    ),
    (
        "posix",
        "export LD_LIBRARY_PATH=/opt/a:/opt/b${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}",
        (A, B),
        "export LD_LIBRARY_PATH=/opt/b${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}",
    ),
    ("posix", 'LD_LIBRARY_PATH="$X/lib:$Y/lib"', (A, B), 'LD_LIBRARY_PATH="$Y/lib"'),
    ("posix", "ld_library_path=($X/lib $Y/lib $ld_library_path)", (A, B), "ld_library_path=($Y/lib $ld_library_path)"),
    (
        "fish",
        "set -gx LD_LIBRARY_PATH /opt/a /opt/b $LD_LIBRARY_PATH",
        (A, B),
        "set -gx LD_LIBRARY_PATH /opt/b $LD_LIBRARY_PATH",
    ),
    ("fish", 'set -gx LD_LIBRARY_PATH "/opt/a:/opt/b"', (A, B), 'set -gx LD_LIBRARY_PATH "/opt/b"'),
    ("assignments", "LD_LIBRARY_PATH=/opt/b:/opt/a", (B, A), "LD_LIBRARY_PATH=/opt/b"),
    (
        "systemd",
        'Environment="LD_LIBRARY_PATH=/opt/a:/opt/b" "B=2"',
        (A, B),
        'Environment="LD_LIBRARY_PATH=/opt/b" "B=2"',
    ),
    ("json", '{"LD_LIBRARY_PATH": "/opt/a:/opt/b"}', (A, B), '{"LD_LIBRARY_PATH": "/opt/b"}'),
    ("json", '{"LD_LIBRARY_PATH": "/opt/a:${env:LD_LIBRARY_PATH}"}', (A,), "{}"),
    (
        "assignments",
        "export LD_LIBRARY_PATH := $(CURDIR)/a:$(LD_LIBRARY_PATH)",
        (A,),
        "# export LD_LIBRARY_PATH := $(CURDIR)/a:$(LD_LIBRARY_PATH)",
    ),
    ("supervisor", 'environment=A="1",LD_LIBRARY_PATH="/opt/a:%(ENV_LD_LIBRARY_PATH)s"', (A,), 'environment=A="1"'),
    (
        "assignments",
        "LD_LIBRARY_PATH = '/opt/a:{{env.LD_LIBRARY_PATH}}'",
        (A,),
        "# LD_LIBRARY_PATH = '/opt/a:{{env.LD_LIBRARY_PATH}}'",
    ),
]


@pytest.mark.parametrize(("form", "old", "new"), OUT)
def test_a_line_is_taken_out(form: LineForm, old: str, new: str) -> None:
    assert edit_text(f"{old}\n", Edit(form=form, line=1, name=L)) == f"{new}\n"


@pytest.mark.parametrize(("form", "old", "among", "new"), LESS)
def test_a_folder_is_taken_out_of_a_line(form: LineForm, old: str, among: tuple[str, ...], new: str) -> None:
    assert edit_text(old, Edit(form=form, line=1, name=L, entry=A, among=among)) == new


@pytest.mark.parametrize(
    ("form", "old", "new"),
    [
        ("posix", "export CUDA_HOME=/opt/gone", "export CUDA_HOME=/usr/cuda"),
        ("posix", 'CUDA_HOME="${CUDA_HOME:-/opt/gone}"', "CUDA_HOME=/usr/cuda"),
        ("fish", "set -gx CUDA_HOME /opt/gone", "set -gx CUDA_HOME /usr/cuda"),
        ("assignments", 'CUDA_HOME="/opt/gone"', 'CUDA_HOME="/usr/cuda"'),
        ("systemd", "Environment=CUDA_HOME=/opt/gone A=1", "Environment=CUDA_HOME=/usr/cuda A=1"),
        ("json", '{"CUDA_HOME": "/opt/gone"}', '{"CUDA_HOME": "/usr/cuda"}'),
    ],
)
def test_a_value_is_changed(form: LineForm, old: str, new: str) -> None:
    assert edit_text(old, Edit(form=form, line=1, name="CUDA_HOME", value="/usr/cuda")) == new


@pytest.mark.parametrize(
    ("form", "old", "new"),
    [
        ("posix", "export LD_LIBRARY_PATH=/opt/b", "export LD_LIBRARY_PATH=/opt/a:/opt/b"),
        ("posix", 'LD_LIBRARY_PATH="$X:/opt/b" ./serve', 'LD_LIBRARY_PATH="/opt/a:$X:/opt/b" ./serve'),
        ("posix", "export LD_LIBRARY_PATH=", "export LD_LIBRARY_PATH=/opt/a"),
        ("fish", "set -gx LD_LIBRARY_PATH /opt/b $X", "set -gx LD_LIBRARY_PATH /opt/a /opt/b $X"),
        ("fish", "set-environment -g LD_LIBRARY_PATH /opt/b", "set-environment -g LD_LIBRARY_PATH /opt/a:/opt/b"),
        ("assignments", 'LD_LIBRARY_PATH="/opt/b"', 'LD_LIBRARY_PATH="/opt/a:/opt/b"'),
        ("pam", "LD_LIBRARY_PATH DEFAULT=/opt/b", "LD_LIBRARY_PATH DEFAULT=/opt/a:/opt/b"),
        ("systemd", 'Environment="LD_LIBRARY_PATH=/opt/b" B=2', 'Environment="LD_LIBRARY_PATH=/opt/a:/opt/b" B=2'),
        ("json", '{"LD_LIBRARY_PATH": "/opt/b"}', '{"LD_LIBRARY_PATH": "/opt/a:/opt/b"}'),
        ("supervisor", 'environment=LD_LIBRARY_PATH="/opt/b"', 'environment=LD_LIBRARY_PATH="/opt/a:/opt/b"'),
        (
            "xml",
            '<env name="LD_LIBRARY_PATH" value="/opt/b" />',
            '<env name="LD_LIBRARY_PATH" value="/opt/a:/opt/b" />',
        ),
    ],
)
def test_a_folder_is_put_in_front(form: LineForm, old: str, new: str) -> None:
    assert edit_text(old, Edit(form=form, line=1, name=L, front=(A,))) == new


@pytest.mark.parametrize("folder", ["/opt/a b", "/opt/$x", "opt", '/a"'])
def test_a_folder_that_wants_quotes_is_put_nowhere(folder: str) -> None:
    with pytest.raises(ChangeError):
        edit_text(f"export {L}=/opt/b", Edit(form="posix", line=1, name=L, front=(folder,)))


def test_what_a_variable_holds_after_a_folder_is_put_in_front() -> None:
    change = EditLine(path="/x", form="posix", line=1, name=L, front=(A,), held=B)
    assert value_after(change, B) == f"{A}:{B}"
    assert value_after(change, "/other") == "/other"


@pytest.mark.parametrize(
    ("form", "old"),
    [
        ("posix", "export OTHER=/opt/a"),
        ("posix", 'LD_LIBRARY_PATH="$1:$LD_LIBRARY_PATH"'),
        ("posix", "export LD_LIBRARY_PATH=/opt/a ./program"),
        ("posix", "cmd: LD_LIBRARY_PATH=/opt/a 'program'"),
        ("posix", 'export LD_LIBRARY_PATH="`x`:$(y)"'),
        ("posix", "# nothing"),
        ("fish", "set -gx OTHER /opt/a"),
        ("assignments", "OTHER=/opt/a"),
        ("systemd", "Environment=OTHER=/opt/a"),
        ("json", '{"OTHER": "/opt/a"}'),
        ("csh", "setenv LD_LIBRARY_PATH /opt/a"),
    ],
)
def test_what_is_more_than_an_assignment_is_left_to_a_hand(form: LineForm, old: str) -> None:
    with pytest.raises(ChangeError):
        edit_text(f"{old}\n", Edit(form=form, line=1, name=L, entry=A, among=(A, B)))


@pytest.mark.parametrize(
    ("form", "old"),
    [
        ("posix", "export LD_LIBRARY_PATH=/opt/b"),
        ("posix", "export LD_LIBRARY_PATH=/opt/a:/opt/b"),
        ("posix", 'export LD_LIBRARY_PATH="/opt/b:$LD_LIBRARY_PATH"'),
        ("posix", "export LD_LIBRARY_PATH='/opt/a':\"/opt/b\""),
        ("posix", "export LD_LIBRARY_PATH=/opt/a:\\\n/opt/b"),
        ("posix", "export LD_LIBRARY_PATH=$X:$Y"),
        ("posix", "[ -d /opt/a ] && export LD_LIBRARY_PATH=/opt/b"),
        ("posix", "LD_LIBRARY_PATH=(/opt/b $LD_LIBRARY_PATH)"),
        ("fish", "set -gx LD_LIBRARY_PATH /opt/b $LD_LIBRARY_PATH"),
        ("fish", "set -gx LD_LIBRARY_PATH /opt/a /opt/b"),
        ("fish", "set -gx LD_LIBRARY_PATH /opt/a:/opt/b"),
        ("fish", 'set -gx LD_LIBRARY_PATH "/opt/b"'),
        ("fish", "test -d /opt; and set -gx LD_LIBRARY_PATH /opt/b"),
        ("assignments", "LD_LIBRARY_PATH=/opt/b"),
        ("assignments", 'LD_LIBRARY_PATH="/opt/a:/opt/b"'),
        ("crontab", "LD_LIBRARY_PATH = /opt/b"),
        ("pam", "LD_LIBRARY_PATH DEFAULT=/opt/b"),
        ("systemd", 'Environment="A=1" LD_LIBRARY_PATH=/opt/b'),
        ("systemd", "LD_LIBRARY_PATH=/opt/b"),
        ("json", '{"LD_LIBRARY_PATH": "/opt/a:/opt/b"}'),
        ("cmd", 'set "LD_LIBRARY_PATH=/opt/b"'),
        ("assignments", "LD_LIBRARY_PATH=-1"),
    ],
)
def test_a_line_that_gives_something_else_is_left(form: LineForm, old: str) -> None:
    """The plan says that the line gives one folder alone, and it does not."""
    with pytest.raises(ChangeError):
        edit_text(f"{old}\n", Edit(form=form, line=1, name=L, entry=A, among=(A,)))


@pytest.mark.parametrize(
    ("form", "old"),
    [
        ("posix", "export LD_LIBRARY_PATH=$CUDA/lib64"),
        ("posix", 'export LD_LIBRARY_PATH="${CUDA:-/opt/b}/lib64:$LD_LIBRARY_PATH"'),
        ("posix", "export LD_LIBRARY_PATH=$(where)"),
        ("posix", "export LD_LIBRARY_PATH=~/a"),
        ("posix", "export LD_LIBRARY_PATH='/opt/a/'"),
        ("fish", "set -gx LD_LIBRARY_PATH $CUDA/lib64"),
        ("cmd", 'set "LD_LIBRARY_PATH=/opt/a;"'),
        ("systemd", "Environment=LD_LIBRARY_PATH=%h/lib"),
        ("posix", "PATH_add lib"),
    ],
)
def test_a_line_whose_only_folder_goes_is_taken_out(form: LineForm, old: str) -> None:
    name = "PATH" if "PATH_add" in old else L
    new = edit_text(f"{old}\n", Edit(form=form, line=1, name=name, entry=A, among=(A,)))
    assert new in (f"# {old}\n", f"rem {old}\n")


# --- on disk -------------------------------------------------------------------------------------------------------


def plan(path: Path, line: int = 2, **fields: object) -> Plan:
    change = EditLine(path=str(path), form="posix", line=line, name=L, reason="It hides the right one.", **fields)
    return Plan(title="t", changes=resolve_changes((change,), LinuxVariables(home=str(path.parent))))


FILES = {
    "line feeds": b"# one\nexport LD_LIBRARY_PATH=/opt/a\nlast\n",
    "carriage returns": b"# one\r\nexport LD_LIBRARY_PATH=/opt/a\r\nlast\r\n",
    "no line end": b"# one\nexport LD_LIBRARY_PATH=/opt/a",
    "latin-1": b"# caf\xe9\nexport LD_LIBRARY_PATH=/opt/a\n# \xfc",
    "empty lines": b"\nexport LD_LIBRARY_PATH=/opt/a\n\n\n",
    "form feed": b"# \x0c one\nexport LD_LIBRARY_PATH=/opt/a\n\x0c\n",
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_everything_else_stays_and_undo_gives_every_byte_back(data: bytes, tmp_path: Path) -> None:
    real, file = tmp_path / "dotfiles/bashrc", tmp_path / ".bashrc"
    real.parent.mkdir()
    real.write_bytes(data)
    real.chmod(0o604)
    file.symlink_to(real)
    writer, journal = LinuxVariables(home=str(tmp_path)), Journal(tmp_path / "state")
    done = execute(plan(file), writer=writer, journal=journal)
    assert done.kind == "done", done.sentence
    assert file.is_symlink()
    new = real.read_bytes()
    end = b"\r\n" if b"\r\n" in data else b"\n"
    comment = b"# Convalesce: It hides the right one." + end + b"# export LD_LIBRARY_PATH=/opt/a"
    assert new == data.replace(b"export LD_LIBRARY_PATH=/opt/a", comment)
    assert real.stat().st_mode & 0o777 == 0o604
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert real.read_bytes() == data
    assert real.stat().st_mode & 0o777 == 0o604


def test_undo_spares_what_others_have_changed_since(tmp_path: Path) -> None:
    file = tmp_path / ".bashrc"
    file.write_bytes(FILES["line feeds"])
    writer, journal = LinuxVariables(home=str(tmp_path)), Journal(tmp_path / "state")
    done = execute(plan(file), writer=writer, journal=journal)
    file.write_text("# new first line\n" + file.read_text() + "# new last line\n")
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert file.read_text() == "# new first line\n# one\nexport LD_LIBRARY_PATH=/opt/a\nlast\n# new last line\n"


def test_undo_is_refused_where_the_line_was_changed_since(tmp_path: Path) -> None:
    file = tmp_path / ".bashrc"
    file.write_bytes(FILES["line feeds"])
    writer, journal = LinuxVariables(home=str(tmp_path)), Journal(tmp_path / "state")
    done = execute(plan(file), writer=writer, journal=journal)
    file.write_text("another file\n")
    assert undo(done.entry, writer=writer, journal=journal).kind == "refused"
    assert file.read_text() == "another file\n"


def test_a_file_that_changed_since_it_was_shown_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / ".bashrc"
    file.write_bytes(FILES["line feeds"])
    shown = plan(file)
    file.write_bytes(FILES["line feeds"] + b"# more\n")
    done = execute(shown, writer=LinuxVariables(home=str(tmp_path)), journal=Journal(tmp_path / "state"))
    assert done.kind == "refused"
    assert file.read_bytes() == FILES["line feeds"] + b"# more\n"


def test_two_lines_of_one_file_are_edited_and_undone_together(tmp_path: Path) -> None:
    file = tmp_path / ".bashrc"
    text = "export LD_LIBRARY_PATH=/opt/a\n# x\nexport LD_LIBRARY_PATH=/opt/a:$LD_LIBRARY_PATH\n"
    file.write_text(text)
    writer, journal = LinuxVariables(home=str(tmp_path)), Journal(tmp_path / "state")
    both = tuple(EditLine(path=str(file), form="posix", line=n, name=L) for n in (1, 3))
    done = execute(Plan(title="t", changes=resolve_changes(both, writer)), writer=writer, journal=journal)
    assert done.kind == "done"
    assert [r for r in file.read_text().splitlines() if not r.startswith("#")] == []
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert file.read_text() == text


def test_a_failed_verification_gives_the_line_back(tmp_path: Path) -> None:
    file = tmp_path / ".bashrc"
    file.write_bytes(FILES["carriage returns"])
    writer, journal = LinuxVariables(home=str(tmp_path)), Journal(tmp_path / "state")
    done = execute(plan(file), writer=writer, journal=journal, verify=lambda: "It is not cured.")
    assert done.kind == "rolled back"
    assert file.read_bytes() == FILES["carriage returns"]


# --- an older session ----------------------------------------------------------------------------------------------


def test_an_older_session_is_judged_with_the_new_value(tmp_path: Path) -> None:
    file = tmp_path / ".bashrc"
    file.write_bytes(FILES["line feeds"])
    writer, journal = LinuxVariables(home=str(tmp_path)), Journal(tmp_path / "state")
    done = execute(plan(file, held="/opt/a"), writer=writer, journal=journal)
    entry = journal.entry(done.entry)
    assert isinstance(entry, Entry)
    from core.transaction.session_host import new_session_host

    host = LinuxHost(environ={b"LD_LIBRARY_PATH": b"/opt/a", b"HOME": b"/nonexistent"})
    renewed = new_session_host(host, [entry], writer.read)
    assert isinstance(renewed, NewSessionHost)
    assert L not in renewed.fresh_environment()
    assert [(r.name, r.old, r.new) for r in renewed.renewals] == [(L, "/opt/a", None)]
    file.write_text("# gone\n")
    assert new_session_host(host, [entry], writer.read) is host, "an edit that is gone counts no more"


def test_a_value_without_what_was_taken_out() -> None:
    change = EditLine(path="/x", form="posix", line=1, name=L, entry=A)
    assert value_after(change, "/opt/a:/opt/b:/opt/a/") == "/opt/b"
    assert value_after(change, "/opt/a") is None
    assert value_after(change, None) is None
    whole = replace(change, entry="", held="-1")
    assert value_after(whole, "-1") is None
    assert value_after(whole, "0") == "0", "set by hand in this session"


# --- the whole way -------------------------------------------------------------------------------------------------


def examine(host: Host) -> Report:
    probes = tuple(p for p in PROBES if p.section in ("environment", "starts", "start_looks"))
    return diagnose_snapshot(take_snapshot(host, Progress(), probes=probes))


@pytest.mark.parametrize("inside", [False, True], ids=["from a launcher", "from that terminal"])
def test_a_terminals_fault_is_found_cured_and_verified_from_anywhere(inside: bool, tmp_path: Path) -> None:
    """A launcher of the desktop and a terminal of the same person come to the same verdict and the same cure."""
    home = tmp_path / "ada"
    home.mkdir(mode=0o700)
    file = home / ".bashrc"
    file.write_text("# mine\nexport CUDA_VISIBLE_DEVICES=-1\n")
    env = {b"PATH": b"/usr/bin:/bin", b"HOME": os.fsencode(home), b"SHELL": b"/bin/bash"}
    if inside:
        env[b"CUDA_VISIBLE_DEVICES"] = b"-1"
    host = LinuxHost(environ=env)
    shop = RepairContext(
        host=host,
        writer=LinuxVariables(home=str(home)),
        journal=Journal(tmp_path / "state"),
        machine_journal=Journal(tmp_path / "machine"),
    )
    report = examine(host)
    finding = report.primary
    assert finding is not None
    assert (finding.id, finding.subject) == ("driver.hidden-by-variable", "CUDA_VISIBLE_DEVICES")
    assert "terminal:bash" in finding.ways
    assert ("process" in finding.ways) is inside
    assert any(e.source == f"{file}:2" for e in finding.evidence)
    looking = dataclasses.replace(shop, policy=Policy(scan_only=True))
    forbidden = repair.apply(repair.propose(finding, looking), report, looking, examine)
    assert (forbidden.kind, "ScanOnly" in forbidden.sentence) == ("refused", True)
    proposal = repair.propose(finding, shop)
    assert proposal.problems == ()
    rehearsal = repair.rehearse(proposal, report, shop, Progress(), examine)
    assert rehearsal.works is True, rehearsal.sentence
    done = repair.apply(proposal, report, shop, examine)
    assert done.kind == "done", done.sentence
    assert {(v.way, v.holds, v.supposed) for v in done.verified_for if v.edited} >= {("terminal", True, False)}
    assert examine(shop.current_host()).primary is None
    assert repair.undo(done.entry, shop).kind == "undone"
    assert file.read_text() == "# mine\nexport CUDA_VISIBLE_DEVICES=-1\n"


# --- everybody's ---------------------------------------------------------------------------------------------------

GOOD = EditLine(
    path="/etc/profile.d/cuda.sh",
    form="posix",
    line=1,
    name=L,
    scope="machine",
    before="export LD_LIBRARY_PATH=/opt/a\n",
    after="# export LD_LIBRARY_PATH=/opt/a\n",
    before_hash="0" * 64,
    after_hash="1" * 64,
)


class Ground(RealGround):
    """Every file is there, and the administrator's."""

    def kind(self, path: str) -> str:
        return "file"

    def changeable_part(self, path: str) -> str:
        return ""


def test_a_listed_line_may_be_taken_out_and_put_back() -> None:
    assert closed_list.refusal_sentences((GOOD,), Ground({})) == ()
    assert closed_list.refusal_sentences((GOOD.inverse(),), Ground({}), back=True) == ()
    assert closed_list.consent_action((GOOD,)) == "line"
    assert "LD_LIBRARY_PATH" in closed_list.describe_changes((GOOD,))[0]
    assert all(
        "{" not in row
        for row in closed_list.describe_changes((GOOD, GOOD.inverse(), replace(GOOD, entry=A), replace(GOOD, value=B)))
    )


@pytest.mark.parametrize(
    "odd",
    [
        {"path": "/etc/passwd"},
        {"path": "/etc/profile.d/../passwd"},
        {"path": "/root/.bashrc"},
        {"name": "BASH_ENV"},
        {"after": "export LD_PRELOAD=/tmp/evil.so\n"},
        {"after": "# export LD_LIBRARY_PATH=/opt/a\nrm -rf /\n"},
        {"reason": "x\nevil"},
        {"value": "/tmp"},
        {"back": True},
        {"before_hash": ""},
        {"form": "assignments"},
        {"entry": "/opt/b"},
    ],
    ids=str,
)
def test_nothing_else_is_done_with_an_administrators_rights(odd: dict[str, str]) -> None:
    assert closed_list.refusal_sentences((replace(GOOD, **odd),), Ground({}))


def test_an_edit_stands_as_long_as_its_lines_do(tmp_path: Path) -> None:
    file = tmp_path / ".bashrc"
    file.write_bytes(FILES["line feeds"])
    change = plan(file).changes[0]
    assert isinstance(change, EditLine)
    assert not is_edit_in_place(change)
    execute(
        Plan(title="t", changes=(change,)),
        writer=LinuxVariables(home=str(tmp_path)),
        journal=Journal(tmp_path / "state"),
    )
    assert is_edit_in_place(change)


def test_a_toolkit_is_named_for_everybody_where_nobody_changes_what_is_below_it() -> None:
    class Toolkit(Ground):
        """The toolkit's folder has one folder, which others can change or not."""

        loose = ""

        def kind(self, path: str) -> str:
            return "folder" if path.startswith("/opt/cuda") else "file"

        def names(self, path: str) -> tuple[str, ...]:
            return ("bin",) if path == "/opt/cuda" else ()

        def changeable_part(self, path: str) -> str:
            return path if path == self.loose else ""

    row = replace(
        GOOD,
        name="CUDA_HOME",
        value="/opt/cuda",
        before="export CUDA_HOME=/opt/gone\n",
        after="export CUDA_HOME=/opt/cuda\n",
    )
    ground = Toolkit({})
    assert not any("can be changed" in r for r in closed_list.refusal_sentences((row,), ground))
    ground.loose = "/opt/cuda/bin"
    assert "/opt/cuda/bin can be changed" in closed_list.refusal_sentences((row,), ground)[0]


def test_each_folder_of_a_remedy_is_taken_out_of_the_line_that_names_it() -> None:
    row = StartLine(name=L, does="set", value=f"{A}:{B}", file="/home/ada/.bashrc", line=3)
    way = Start(id="terminal", kind="terminal", lines=(row,))
    places = (Place(folder=A, prefix="/x"), Place(folder="/opt/c", prefix="/x"))
    assert [entry for _row, entry in _rows(TakeOut(variable=L, places=places), way)] == [A]
    for over, rows in ((A, [A]), ("/opt/c", [])):
        assert [
            entry
            for _row, entry in _rows(PreferFolder(over=over, by="LD_LIBRARY_PATH", places=(Place(folder=A),)), way)
        ] == rows
