"""From the start to a verified cure and its undoing, on recorded machines: by mouse, and again by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from PySide6.QtWidgets import QDialog

from core.model.facts import Snapshot, Variable
from core.transaction.journal import Entry
from gui.dialogs.change_dialog import FixDialog, UndoDialog
from tests.gui import recorded
from tests.gui.conftest import Opened
from tests.gui.engines import Repairing, Showing
from tests.gui.hand import Hand
from tests.gui.screen import shown_text

LANDS = {
    "healthy": ("Summary", "Everything needed is present"),
    "sub-library missing": ("cuDNN", "libcudnn_cnn.so.9 is missing"),
    "no driver": ("Driver", "has no NVIDIA driver"),
    "no gpu": ("Summary", "No fault was found"),
    "ten gpus": ("Summary", "Everything needed is present"),
    "fifty pythons": ("Summary", "Everything needed is present"),
    "everything broken": ("Driver", "two halves have different versions"),
}
BEFORE = {
    "folder not on path": r"C:\Users\ada\bin",
    "shadowed": rf"{recorded.OTHER};{recorded.m.INSTALLER};C:\Users\ada\bin",
}
AFTER = {
    "folder not on path": rf"C:\Users\ada\bin;{recorded.m.INSTALLER}",
    "shadowed": rf"{recorded.m.INSTALLER};{recorded.OTHER};C:\Users\ada\bin",
}


@pytest.mark.parametrize("keyboard", [False, True], ids=["mouse", "keyboard"])
@pytest.mark.parametrize("name", LANDS)
def test_a_machine_that_only_its_owner_can_cure(name: str, keyboard: bool, opened: Opened) -> None:
    window = opened(Showing(recorded.report(name)))
    page, sentence = LANDS[name]
    current = window.stack.currentWidget()
    assert current.title == page
    assert sentence in shown_text(current)
    hand = Hand(window, keyboard=keyboard)
    for page in hand.walk_everywhere():
        assert page.title in shown_text(page) or page is window.summary
        assert not [c for c in page.cards if c.finding.primary and c.fix_button]
    assert not window.findChildren(QDialog)


@pytest.mark.parametrize("keyboard", [False, True], ids=["mouse", "keyboard"])
@pytest.mark.parametrize("name", recorded.CURABLE)
def test_from_the_start_to_a_verified_cure_and_its_undoing(
    name: str, keyboard: bool, opened: Opened, tmp_path: Path
) -> None:
    engine = Repairing(tmp_path, recorded.windows(BEFORE[name]), recorded.on_windows)
    window = opened(engine)
    hand = Hand(window, keyboard=keyboard)
    page = window.stack.currentWidget()
    assert page.title == "cuDNN"
    button = page.cards[0].fix_button
    assert button.hasFocus()

    hand.press(button.text())
    dialog = hand.dialog
    assert isinstance(dialog, FixDialog)
    assert "Rehearsed on this machine: works." in shown_text(dialog)
    assert "+ " + recorded.m.INSTALLER in shown_text(dialog)
    assert engine.path == BEFORE[name]
    hand.press("Cancel")
    assert (engine.path, engine.journal.entries()) == (BEFORE[name], ())

    assert window.focusWidget() is button
    hand.press(button.text())
    hand.press("Make these changes")
    assert engine.path == AFTER[name]
    assert "Verified: the fault is gone" in shown_text(hand.dialog)
    hand.press("Close")
    assert "Everything needed is present" in shown_text(window.stack.currentWidget())

    hand.go_to("Summary")
    assert "done." in shown_text(window.summary)
    hand.press("Undo...")
    assert isinstance(hand.dialog, UndoDialog)
    assert engine.path == AFTER[name]
    hand.press("Undo these changes")
    assert engine.path == BEFORE[name]
    assert "Undone:" in shown_text(hand.dialog)
    hand.press("Close")
    assert window.stack.currentWidget().title == "cuDNN"
    assert [e.state for e in engine.journal.entries() if isinstance(e, Entry)] == ["undone"]


GOOD = rf"C:\Users\ada\bin;{recorded.m.INSTALLER}"


class Walk(NamedTuple):
    """A machine with one variable that is wrong, where its cure stands, and what the variable is afterwards."""

    see: Callable[[Iterable[Variable]], Snapshot]
    name: str
    before: str
    after: str | None
    page: str
    lands: str = ""
    """Where the scan lands, if not on that page: a cause that only its owner can cure comes first."""


WALKS = {
    "ten gpus, hidden": Walk(recorded.hidden_gpus, "CUDA_VISIBLE_DEVICES", "-1", None, "Driver"),
    "no gpu, dead entries": Walk(
        recorded.dead_entries, "Path", ";".join((*recorded.GONE, GOOD)), GOOD, "Environment", lands="Summary"
    ),
    "fifty pythons": Walk(
        lambda kept: recorded.fifty_pythons(recorded.on_windows(kept)), "Path", BEFORE["folder not on path"],
        AFTER["folder not on path"], "cuDNN",
    ),
    "everything broken": Walk(
        recorded.much_broken, "CUDA_PATH", r"C:\gone\v11", recorded.m.TOOLKIT, "CUDA toolkit", lands="Driver"
    ),
}  # fmt: skip


@pytest.mark.parametrize("keyboard", [False, True], ids=["mouse", "keyboard"])
@pytest.mark.parametrize("name", WALKS)
def test_one_wrong_variable_among_much_else(name: str, keyboard: bool, opened: Opened, tmp_path: Path) -> None:
    walk = WALKS[name]
    variables = [v for v in recorded.windows(GOOD) if v.name != walk.name or v.scope == "machine"]
    variables = [v for v in variables if v.name != "CUDA_PATH" or walk.name != "CUDA_PATH"]
    variables.append(Variable(name=walk.name, value=walk.before, scope="user", kind="REG_SZ", source=recorded.USER))
    engine = Repairing(tmp_path, tuple(variables), walk.see)
    window = opened(engine)
    hand = Hand(window, keyboard=keyboard)
    assert window.stack.currentWidget().title == (walk.lands or walk.page)
    hand.go_to(walk.page)
    card = next(c for c in window.stack.currentWidget().cards if c.fix_button)
    hand.press(card.fix_button.text())
    hand.wait(lambda: hand.button("Make these changes"), "a preview")
    assert walk.before.split(";")[0] in shown_text(hand.dialog)
    assert engine.kept(walk.name) == walk.before
    hand.press("Make these changes")
    assert engine.kept(walk.name) == walk.after
    assert "Verified: the fault is gone" in shown_text(hand.dialog)
    hand.press("Close")
    hand.go_to(walk.page)
    assert not [c for c in window.stack.currentWidget().cards if c.fix_button]
    hand.go_to("Summary")
    hand.press("Undo...")
    hand.press("Undo these changes")
    assert engine.kept(walk.name) == walk.before
    hand.press("Close")
    assert [e.state for e in engine.journal.entries() if isinstance(e, Entry)] == ["undone"]


def test_next_never_changes_anything(opened: Opened, tmp_path: Path) -> None:
    engine = Repairing(tmp_path, recorded.windows(BEFORE["shadowed"]), recorded.on_windows)
    window = opened(engine)
    for _page in Hand(window, keyboard=False).walk_everywhere():
        assert engine.path == BEFORE["shadowed"]
    assert not engine.journal.entries()


def test_all_changes_are_undone_at_once_the_last_one_first(opened: Opened, tmp_path: Path) -> None:
    engine = Repairing(tmp_path, recorded.windows(BEFORE["shadowed"]), recorded.on_windows)
    window = opened(engine)
    hand = Hand(window, keyboard=False)
    for start in ("shadowed", "folder not on path"):
        value = engine.writer.read("Path", "user", "")
        engine.writer.write("Path", "user", "", type(value)(text=BEFORE[start], kind=value.kind))
        hand.press("Check again")
        hand.press(window.stack.currentWidget().cards[0].fix_button.text())
        hand.press("Make these changes")
        hand.press("Close")
    hand.go_to("Summary")
    hand.press("Undo all...")
    hand.press("Undo these changes")
    assert {e.state for e in engine.journal.entries()} <= {"undone", "done"}
    assert engine.journal.entries()[-1].state == "undone"
