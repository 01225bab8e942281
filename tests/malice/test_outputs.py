"""What Convalesce writes where it was told to, and what it shows: nobody else chooses the place, and nothing drives a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from core.cli.terminal import UsageError, say_json, say_result, write_file
from core.common import streams
from core.common.text import printable
from core.doctor.examine import diagnose_snapshot
from core.report.json_form import to_json
from core.report.redact import redact
from tests import machines
from tests.malice.conftest import ROOT, Box, give, needs_root, shared_folder
from tests.malice.planted import VERA

OURS = re.compile(r"\x1b\[(?:0|1|2|3[1-6])m")
"""What a report's own colours are."""
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[8m\x9b31m\r\u202elo\b"


def run(
    *arguments: str, uid: int = 0, home: Path, input: str = "", cwd: str = "/", **env: str
) -> subprocess.CompletedProcess[bytes]:
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **env}
    return subprocess.run(
        [sys.executable, "-m", "core", *arguments], user=uid, group=uid, extra_groups=[], cwd=cwd, env=variables,
        capture_output=True, input=input.encode(), check=False, timeout=20,
    )  # fmt: skip


# --- where it is written -----------------------------------------------------------------------------------------------


def linked(box: Box, place: Path, name: str) -> None:
    (place / name).symlink_to(box.root / "etc/environment")
    give(place / name)


def hard_linked(box: Box, place: Path, name: str) -> None:
    os.link(box.root / "etc/environment", place / name)  # as where the kernel does not protect hard links


def a_fifo(_box: Box, place: Path, name: str) -> None:
    os.mkfifo(place / name, 0o666)
    give(place / name)


def her_file(_box: Box, place: Path, name: str) -> None:
    (place / name).write_bytes(b"mine")
    give(place / name)
    (place / name).chmod(0o666)


PLANTED: dict[str, Callable[[Box, Path, str], None]] = {
    "a link": linked,
    "a hard link": hard_linked,
    "a pipe": a_fifo,
    "a file of hers": her_file,
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "report": ("report", "{report}", "--markdown", "--out", "{out}"),
    "policy": ("check", "--report", "{report}", "--write-expect", "{out}"),
}


@pytest.fixture
def healthy(box: Box) -> Path:
    path = box.root / "report.json"
    path.write_bytes(to_json(redact(diagnose_snapshot(machines.wheel_machine()))))
    path.chmod(0o644)
    return path


@pytest.fixture
def shared(box: Box) -> Path:
    return shared_folder(box.root / "shared")


@needs_root
@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_written_through_what_another_account_planted(
    box: Box, healthy: Path, shared: Path, command: str, planted: str
) -> None:
    out, before = shared / "out.txt", (box.root / "etc/environment").read_bytes()
    PLANTED[planted](box, shared, out.name)
    words = [w.format(report=healthy, out=out) for w in COMMANDS[command]]
    done = run(*words, home=box.root / "home/root")
    assert (box.root / "etc/environment").read_bytes() == before
    assert (done.returncode, str(out) in done.stderr.decode()) == (2, True), done
    assert "Another account" in done.stderr.decode()


@needs_root
@pytest.mark.parametrize("command", [*COMMANDS, "check", "export"])
def test_root_follows_no_folder_of_hers_to_where_it_writes(box: Box, healthy: Path, shared: Path, command: str) -> None:
    (shared / "out").symlink_to(box.root / "etc")
    give(shared / "out")
    out = shared / "out/environment"
    more = {
        "check": ("check", "--report", "{report}", "--form", "prom", "--out", "{out}"),
        "export": ("triage", "{report}", "--export", "{out}"),
    }
    words = [w.format(report=healthy, out=out) for w in (COMMANDS | more)[command]]
    before = (box.root / "etc/environment").read_bytes()
    done = run(*words, home=box.root / "home/root")
    assert (box.root / "etc/environment").read_bytes() == before
    assert (done.returncode, "Another account" in done.stderr.decode()) == (2, True), done


@needs_root
def test_a_person_writes_through_no_link_of_eve_s_into_her_own_home(box: Box, healthy: Path, shared: Path) -> None:
    home = box.root / "home/vera"
    home.mkdir()
    (home / ".profile").write_bytes(b"hers\n")
    for path in (home, home / ".profile"):
        os.chown(path, VERA, VERA)
    (shared / "r.md").symlink_to(home / ".profile")
    give(shared / "r.md")
    done = run("report", str(healthy), "--markdown", "--out", str(shared / "r.md"), uid=VERA, home=home)
    assert (home / ".profile").read_bytes() == b"hers\n"
    assert done.returncode == 2


def test_what_is_ones_own_is_written_as_ever(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"longer than what comes")
    (tmp_path / "link").symlink_to(tmp_path / "old")
    os.link(tmp_path / "old", tmp_path / "other")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "other").read_bytes() == b"new", "links, and hard links, of one's own lead where they lead"
    write_file(tmp_path / "fresh", b"x")
    write_file(Path(os.devnull), b"x")
    read, write = os.pipe()
    write_file(Path(f"/dev/fd/{write}"), b"through a pipe")
    assert os.read(read, 100) == b"through a pipe"
    with pytest.raises(UsageError):
        write_file(tmp_path / "none/x", b"")
    with pytest.raises(UsageError):
        write_file(tmp_path, b"")


# --- what a terminal gets ----------------------------------------------------------------------------------------------


def plain(text: str) -> None:
    left = OURS.sub("", text)
    assert left == printable(left), ascii(left)


def test_a_result_keeps_its_colours_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    say_result(f"\x1b[31mred\x1b[0m {HOSTILE} \x1b[8mhidden\n")
    out = capsys.readouterr().out
    assert out.startswith("\x1b[31mred\x1b[0m ")
    plain(out)


def test_a_json_document_says_the_same_and_drives_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say_json(msgspec.json.encode({"text": HOSTILE}))
    out = capsys.readouterr().out
    assert json.loads(out) == {"text": HOSTILE}
    plain(out)


def test_a_complaint_drives_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with streams.replaced_streams():
        print(f"\r{HOSTILE} ...", file=sys.stderr)
    err = capsys.readouterr().err
    plain(err.removeprefix("\r"))


@needs_root
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_folder_of_hostile_reports(box: Box, shared: Path, form: tuple[str, ...]) -> None:
    seen = machines.wheel_machine()
    document = json.loads(to_json(diagnose_snapshot(seen)))
    document["snapshot"]["machine"]["release"] = f"<script>{HOSTILE}"
    document["findings"][0]["title"] = HOSTILE
    (shared / f"a{HOSTILE.replace('/', '')}.json").write_text("not a report")
    (shared / "b.json").write_text(json.dumps(document))
    (shared / "c.json").symlink_to("/dev/zero")
    os.mkfifo(shared / "d.json")
    (shared / "e.json").symlink_to(shared)
    done = run("triage", str(shared), *form, home=box.root / "home/root")
    assert done.returncode == 0, done
    for text in (done.stdout.decode(), done.stderr.decode()):
        plain(text)


@needs_root
@pytest.mark.parametrize(
    "arguments",
    [
        ("scan", "--only", "environment", "--python", "{odd}"),
        ("scan", "--only", "environment", "--program", "{odd}"),
        ("scan", "--only", "{odd}"),
        ("scan", "--root", "{odd}"),
        ("explain", "{odd}: libcudnn.so.9: file too short", "--text-only"),
        ("fix", "{odd}"),
        ("undo", "{odd}"),
        ("report", "{odd}"),
        ("triage", "{odd}"),
        ("check", "--expect", "{odd}"),
        ("{odd}",),
    ],
    ids=lambda a: " ".join(a).replace("{odd}", "X"),
)
def test_a_name_that_was_given_drives_no_terminal(box: Box, arguments: tuple[str, ...]) -> None:
    odd = str(box.root / HOSTILE.replace("/", ""))
    Path(odd).mkdir()
    done = run(*(a.format(odd=odd) for a in arguments), home=box.root / "home/root")
    assert done.stdout or done.stderr
    for text in (done.stdout.decode(), done.stderr.decode()):
        plain(text)
