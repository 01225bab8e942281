"""Orders to the elevated side: what was shown is what is done, and nobody's password starts what another can change."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from core.host.interface import CompletedProcess
from core.model.changes import FileItem, FileSet, SetVariable, Value
from core.transaction import elevation
from core.transaction.elevation import ElevationOrder
from core.transaction.execute import Outcome, Plan
from core.transaction.journal import Journal
from tests.malice.conftest import EVE, ROOT, Box, give, needs_root

pytestmark = needs_root

UNHIDE = SetVariable(name="CUDA_VISIBLE_DEVICES", scope="machine", before=Value(text="-1"), after=None)
TITLE = "Install the security updates"


def carried(box: Box, path: str, digest: str, summary: str = "", said: str = "", **env: str) -> Outcome:
    return elevation.execute_order(
        path, digest, writer=box.writer, journal=box.machines, env=env, agreed=lambda _rows: said, summary=summary
    )


@pytest.fixture
def order(box: Box) -> tuple[str, str]:
    return box.order(ElevationOrder(plan=Plan(title=TITLE, changes=(UNHIDE,))))


def test_a_plan_that_was_changed_after_the_consent_is_refused(box: Box, order: tuple[str, str]) -> None:
    path, digest = order
    Path(path).write_bytes(Path(path).read_bytes().replace(b"CUDA_VISIBLE_DEVICES", b"NVIDIA_VISIBLE_DEVICES"))
    said = carried(box, path, digest)
    assert (said.kind, "SHA-256 differs" in said.sentence) == ("refused", True)


def test_a_plan_that_is_changed_while_the_person_reads_is_the_one_that_was_read(
    box: Box, order: tuple[str, str]
) -> None:
    path, digest = order

    def swap(rows: tuple[str, ...]) -> str:
        assert rows == ("Remove the variable CUDA_VISIBLE_DEVICES for all users.",)
        Path(path).write_bytes(b"{}")
        return ""

    done = elevation.execute_order(path, digest, writer=box.writer, journal=box.machines, env={}, agreed=swap)
    assert done.kind == "done"
    assert (box.root / "etc/environment").read_text() == "PATH=/usr/bin:/bin\n"


def test_a_folder_that_becomes_another_s_while_the_person_reads_is_refused(box: Box) -> None:
    change = FileSet(
        title="t",
        items=(
            FileItem(
                path=f"{box.root}/opt/cuda/lib64/libcudnn.so.9",
                after="0" * 64,
                size=5,
                source=f"{box.root}/opt/spare/libcudnn_cnn.so.9",
            ),
        ),
    )
    path, digest = box.order(ElevationOrder(plan=Plan(title="t", changes=(change,))))

    def swap(_rows: tuple[str, ...]) -> str:
        give(box.root / "opt/spare")
        return ""

    said = elevation.execute_order(path, digest, writer=box.writer, journal=box.machines, env={}, agreed=swap)
    assert (said.kind, "opt/spare can be changed" in said.sentence) == ("refused", True)


def test_what_the_dialog_showed_must_be_what_the_plan_does(box: Box, order: tuple[str, str]) -> None:
    said = carried(box, *order, summary="Install the security updates.")
    assert (said.kind, "The command line and the plan differ" in said.sentence) == ("refused", True)
    assert carried(box, *order, summary="Remove the variable CUDA_VISIBLE_DEVICES for all users.").kind == "done"


def test_the_words_of_a_plan_have_no_place_in_what_is_asked(box: Box) -> None:
    lines = SetVariable(name="CUDA_PATH", scope="machine", after=Value(text="/opt\n\u202egood"))
    order = ElevationOrder(plan=Plan(title=TITLE, changes=(UNHIDE, lines)))
    action, summary = elevation.describe_order(order, box.machines)
    assert action == "variable"
    assert TITLE not in summary
    assert r"/opt\n<U+202E>good" in summary
    assert "\n" not in summary


def test_a_refusal_by_the_person_changes_nothing(box: Box, order: tuple[str, str]) -> None:
    said = carried(box, *order, said="You did not agree.")
    assert (said.kind, said.sentence) == ("refused", "Nothing was changed. You did not agree.")
    assert not Path(box.machines.folder).exists()


@pytest.mark.parametrize(("answer", "agreed"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_the_terminal_is_asked_in_words_of_our_own(answer: bytes, agreed: bool) -> None:
    code = (
        "import fcntl, os, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); from core.transaction import elevation as elevate; "
        "print('said', repr(elevate._ask_terminal(('Take it away.',))), flush=True)"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=theirs, stdout=subprocess.PIPE)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(ours, 4096)
    os.write(ours, answer)
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert b"Convalesce will do this with administrator rights:\r\n\r\nTake it away.\r\n" in shown
    assert out == (b"said ''\n" if agreed else b"said 'You did not agree.'\n")


def test_without_a_terminal_nothing_is_done() -> None:
    code = "import os; os.setsid(); from core.transaction import elevation as elevate; print(elevate._ask_terminal(('x',)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "There is no terminal to ask for consent.\n"


class Pkexec:
    """A host on which pkexec would do whatever it is asked."""

    asked = False

    def run(self, argv: list[str], *, timeout: float) -> CompletedProcess:
        self.asked = True
        return CompletedProcess(status=0, out=msgspec.json.encode(Outcome(kind="done", sentence="Done.")).decode())


def test_an_installation_that_its_user_can_write_asks_for_no_password(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = box.eve / "convalesce"
    program.write_text("")
    give(program)
    monkeypatch.setattr(sys, "executable", str(program))
    host = Pkexec()
    said = elevation.ask_elevated(ElevationOrder(plan=Plan(title="t", changes=(UNHIDE,))), host=host, journal=box.mine)
    assert (said.kind, host.asked) == ("refused", False)
    assert "home/eve can be changed without administrator rights" in said.sentence
    assert "It can be done with your own password. Run this in a terminal: sudo " in said.sentence


@pytest.mark.parametrize(
    ("env", "allowed"),
    [
        ({"PKEXEC_UID": str(EVE)}, False),
        ({"SUDO_UID": str(EVE)}, True),
        ({"SUDO_UID": "1000"}, False),
        ({"SUDO_UID": str(EVE), "PKEXEC_UID": str(EVE)}, False),
        ({"SUDO_UID": "x"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_the_elevated_side_goes_on_only_for_whose_installation_it_is(
    box: Box, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], allowed: bool
) -> None:
    program = give(box.eve / "libcudnn_cnn.so.9")
    monkeypatch.setattr(sys, "executable", str(program))
    refused = elevation._refuse_changeable_program(env, "")
    assert (refused is None) == allowed
    assert allowed or "can be changed without administrator rights" in refused.sentence


def test_the_policy_has_an_action_for_every_kind_that_is_asked_for() -> None:
    from core.transaction.broker.closed_list import CHANGE_KINDS

    text = (ROOT / "installer/linux/convalesce.policy").read_text()
    words = (*dict.fromkeys(k.name for k in CHANGE_KINDS if k.name != "system-step"), "changes", "undo")
    for word in words:
        assert f'id="convalesce.{word}"' in text
        assert f">{elevation.ELEVATED_OPTION}{word}<" in text
    assert text.count("$(command_line)") == text.count("<action ") == text.count("argv1") == len(words)


def test_an_answer_of_a_way_back_that_cannot_be_told_is_a_sentence(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elevation, "machine_state_folder", lambda: Path(box.machines.folder))
    said = elevation.ask_elevated(
        ElevationOrder(undo="20260101T000000Z-0000"), host=Pkexec(), journal=Journal(box.mine.folder)
    )
    assert said.kind == "refused"
    assert "no entry" in said.sentence
