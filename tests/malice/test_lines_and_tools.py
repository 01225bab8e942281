"""Start-up files that links of another account lead to, and environments that an assistant names."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.model.changes import ChangeError, EditLine
from core.transaction.execute import Outcome, Plan, execute
from core.transaction.preconditions import resolve_changes
from core.transaction.variable_store import LinuxVariables
from tests.malice.conftest import EVE, ROOT, Box, give, needs_root
from tests.malice.planted import VERA, library, owned, plant

pytestmark = needs_root

NAME = "LD_LIBRARY_PATH"
LINE = f"export {NAME}=/opt/gone\n"


def edited(box: Box, path: Path, **fields: object) -> Outcome:
    """Resolve and carry out an edit of the first line, with the rights of who runs."""
    writer = LinuxVariables(str(box.root), str(box.root / "home/root"))
    wish = EditLine(path=str(path), form="posix", line=1, name=NAME, **fields)
    try:
        plan = Plan(title="t", changes=resolve_changes((wish,), writer))
    except (ChangeError, OSError) as e:
        return Outcome(kind="refused", sentence=str(e))
    return execute(plan, writer=writer, journal=box.mine)


@pytest.mark.parametrize("way", ["the file", "a folder on the way", "a link to a link"])
def test_root_edits_nothing_through_a_link_of_hers(box: Box, way: str) -> None:
    """Her ~/.bashrc leads to a file of root's: who edits hers would edit that one."""
    victim = box.root / "etc/profile"
    victim.write_text(LINE)
    if way == "the file":
        (box.eve / ".bashrc").symlink_to(victim)
        named = give(box.eve / ".bashrc")
    elif way == "a folder on the way":
        (box.eve / "dotfiles").symlink_to(box.root / "etc")
        named = give(box.eve / "dotfiles") / "profile"
    else:
        (box.eve / "second").symlink_to(victim)
        give(box.eve / "second")
        (box.root / "etc/first").symlink_to(box.eve / "second")
        named = box.root / "etc/first"
    said = edited(box, named)
    assert said.kind == "refused", said
    assert "is a link of another account" in said.sentence
    assert victim.read_text() == LINE


def test_root_edits_its_own_file_through_its_own_link(box: Box) -> None:
    (box.root / "etc/real").write_text(LINE)
    (box.root / "etc/link").symlink_to(box.root / "etc/real")
    assert edited(box, box.root / "etc/link").kind == "done"
    assert (box.root / "etc/real").read_text() == f"# {LINE}"


def test_a_hard_link_of_hers_leaves_the_other_name_as_it_was(box: Box) -> None:
    victim = box.root / "etc/profile"
    victim.write_text(LINE)
    os.link(victim, box.eve / ".bashrc")
    edited(box, box.eve / ".bashrc")
    assert victim.read_text() == LINE


def plan_of(path: Path, after: str, **fields: object) -> EditLine:
    text = path.read_text()
    return EditLine(
        path=str(path), form="posix", line=1, name=NAME, scope="machine", before=text, after=after,
        before_hash=hashlib.sha256(text.encode()).hexdigest(), after_hash=hashlib.sha256(after.encode()).hexdigest(), **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (f"export {NAME}=/opt/cuda/lib64\n", {"entry": "/opt/evil", "among": ("/opt/evil",)}),
        (f"export {NAME}=/opt/evil:/opt/cuda/lib64\n", {"entry": "/opt/evil", "among": ("/opt/evil",)}),
        (f'export {NAME}="/opt/cuda/lib64:${NAME}"\n', {"entry": "/opt/evil", "among": ("/opt/evil", "/opt/evil")}),
        (f"export {NAME}=$A:$B\n", {"entry": "/opt/evil", "among": ("/opt/evil",)}),
    ],
)
def test_a_line_does_not_go_whole_because_a_plan_says_that_it_gives_one_folder(
    box: Box, monkeypatch: pytest.MonkeyPatch, line: str, fields: dict[str, object]
) -> None:
    from core.transaction.broker import lines

    path = box.root / "etc/profile.d/cuda.sh"
    path.parent.mkdir()
    path.write_text(line)
    monkeypatch.setattr(lines, "LINE_FILES", ((str(path), "posix"),))
    [row] = box.allowed(plan_of(path, f"# {line}", **fields))
    assert "does not carry out" in row
    assert box.allowed(plan_of(path, f"# {line}")) == (), "said as what it is, it may be done"


# --- an assistant ------------------------------------------------------------------------------------------------------

ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from core.probes.python import locations
locations.WALK_STARTS = {"linux": ()}
from core.cli.mcp import Tools
print(json.dumps([Tools().scan(sys.argv[2]), Tools().propose("", sys.argv[2])]))
"""


def asked(uid: int, home: Path, environment: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(ROOT), str(environment)], user=uid, group=uid, extra_groups=[], cwd="/",
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return "\n".join(json.loads(done.stdout))


@pytest.mark.parametrize("uid", [VERA, 0], ids=["vera", "root"])
def test_what_an_assistant_names_is_not_run_where_she_can_change_it(box: Box, marks: Path, uid: int) -> None:
    """An assistant says what a web page told it to say: the person has named nothing."""
    plant(box.eve / "env", library(str(marks)))
    owned(box.eve, EVE)
    home = box.root / "home/vera"
    home.mkdir()
    said = asked(uid, owned(home, VERA) if uid else box.root / "home/root", box.eve / "env")
    assert not list(marks.iterdir())
    assert "/env" in said, "it is read all the same"


def test_what_an_assistant_names_of_the_persons_own_is_tried(box: Box, marks: Path) -> None:
    home = box.root / "home/vera"
    plant(home / "env", library(str(marks)))
    asked(VERA, owned(home, VERA), home / "env")
    assert [p.stat().st_uid for p in marks.iterdir()] == [VERA]
