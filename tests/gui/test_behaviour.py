"""What the window does while work is under way: it never stands still, and what hangs or fails is said, not waited for."""

from __future__ import annotations

import itertools
import re
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QTimer
from pytestqt.qtbot import QtBot

from core.common.progress import Progress
from core.doctor.examine import diagnose_snapshot
from core.doctor.scan import take_snapshot
from core.host.linux import processes as linux_processes
from core.model.changes import SetVariable, Value
from core.model.facts import Machine, Snapshot
from core.model.findings import Report
from core.probes.probe import Probe, ProbeRequest
from gui.controller import Controller
from gui.dialogs.change_dialog import FixDialog
from gui.window.window import Window
from tests.gui import recorded, reports
from tests.gui.conftest import Opened, put_away
from tests.gui.engines import Repairing, Showing
from tests.gui.hand import Hand
from tests.gui.screen import shown_text
from tests.host.fake import FakeHost


def test_a_probe_that_hangs_is_not_decided_and_the_rest_goes_on(
    qtbot: QtBot, settings: QSettings, tmp_path: Path
) -> None:
    release = threading.Event()
    healthy = recorded.MACHINES["healthy"]()

    def hangs(_request: ProbeRequest) -> object:
        release.wait(30)
        return ()

    probes = (
        Probe("driver", lambda _r: healthy.driver),
        Probe("environment", lambda _r: healthy.environment),
        Probe("pythons", lambda _r: healthy.pythons),
        Probe("toolkits", hangs, timeout=0.2),
        Probe("cudnn", lambda _r: healthy.cudnn),
        Probe("loads", lambda _r: healthy.loads),
    )
    host = FakeHost(root=tmp_path, facts=healthy.machine)
    controller = Controller(Showing(lambda watch: diagnose_snapshot(take_snapshot(host, watch, probes=probes))))
    window = Window(controller, settings)
    window.show()
    with qtbot.waitSignal(controller.report_changed, timeout=10_000):
        window.start()
    release.set()
    window.steps.setCurrentRow(1)
    assert "Undecided" in window.steps.item(1).text()
    assert "OK" in window.steps.item(2).text()
    put_away([window])


def test_the_window_beats_on_while_the_largest_machine_is_scanned(qtbot: QtBot, settings: QSettings) -> None:
    at_work, enough = threading.Event(), threading.Event()
    beats: list[bool] = []

    def examine(watch: Progress) -> Report:
        report = recorded.report("everything broken")
        at_work.set()
        for _ in range(50):
            watch.say("Looking")
        beats.append(enough.wait(10))  # the scan goes on until the window has beaten often
        return report

    count = itertools.count()

    def beat() -> None:
        if at_work.is_set() and next(count) >= 50:
            enough.set()

    controller = Controller(Showing(examine))
    window = Window(controller, settings)
    window.show()
    timer = QTimer()
    timer.timeout.connect(beat)
    timer.start(0)
    with qtbot.waitSignal(controller.report_changed, timeout=30_000):
        window.start()
    timer.stop()
    assert beats == [True]  # how long each takes is measured by tests/benchmarks/window.py
    put_away([window])


def test_only_the_visible_page_is_made(opened: Opened) -> None:
    window = opened(Showing(recorded.report("everything broken")))
    made = [page.title for page in window.pages if page.cards]
    assert made == ["Driver"]
    window.next.click()
    assert [page.title for page in window.pages if page.cards] == ["Driver", "CUDA toolkit"]


def test_a_long_page_shows_the_worst_first_and_the_rest_on_request(opened: Opened) -> None:
    window = opened(Showing(recorded.report("everything broken")))
    window.steps.setCurrentRow(2)
    page = window.pages[2]
    few = len(page.cards)
    hand = Hand(window, keyboard=True)
    total = len(recorded.report("everything broken").findings_for(page.step))
    while more := [b for b in page.findChildren(type(window.next)) if b.isVisible() and b.text().startswith("Show ")]:
        hand.press(more[0].text())
    assert few < total
    assert len(page.cards) == total


class Slow(Repairing):
    """Once it is slow, works until it is cancelled."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, recorded.windows(r"C:\Users\ada\bin"), recorded.on_windows)
        self.reached = threading.Event()
        self.slow = False

    def _look(self, host: object, watch: Progress) -> Report:
        if self.slow:
            self.reached.set()
            while not watch.cancelled:
                threading.Event().wait(0.005)
        return super()._look(host, watch)


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("moment", ["rehearsal", "verification"])
def test_cancel_is_real_at_every_moment(moment: str, settings: QSettings, tmp_path: Path) -> None:
    engine = Slow(tmp_path)
    window = Window(Controller(engine), settings)
    window.show()
    hand = Hand(window, keyboard=False)
    window.start()
    hand.wait(lambda: window.report, "the scan's end")
    before = engine.path
    engine.slow = moment == "rehearsal"
    hand.press(window.stack.currentWidget().cards[0].fix_button.text())
    if moment == "verification":
        hand.wait(lambda: hand.button("Make these changes"), "the preview")
        engine.slow = True
        hand.press("Make these changes")
    hand.wait(engine.reached.is_set, "the work")
    assert (engine.path != before) == (moment == "verification")
    hand.press("Cancel")
    hand.wait(lambda: hand.button("Close"), "the end")
    assert "Cancelled. Everything is as it was before." in shown_text(hand.dialog)
    hand.press("Close")
    assert engine.path == before
    assert [e.state for e in engine.journal.entries()] == (["rolled back"] if moment == "verification" else [])
    put_away([window])


@pytest.mark.usefixtures("qapp")
def test_closing_in_the_middle_of_a_fix_takes_it_back(settings: QSettings, tmp_path: Path) -> None:
    engine = Slow(tmp_path)
    window = Window(Controller(engine), settings)
    window.show()
    hand = Hand(window, keyboard=False)
    window.start()
    hand.wait(lambda: window.report, "the scan's end")
    before = engine.path
    hand.press(window.stack.currentWidget().cards[0].fix_button.text())
    hand.wait(lambda: hand.button("Make these changes"), "the preview")
    engine.slow = True
    hand.press("Make these changes")
    hand.wait(engine.reached.is_set, "the work")
    assert engine.path != before
    put_away([window])
    assert engine.path == before
    assert [e.state for e in engine.journal.entries()] == ["rolled back"]


def test_a_fix_that_does_not_cure_is_taken_back_and_says_so(opened: Opened, tmp_path: Path) -> None:
    engine = Repairing(
        tmp_path,
        recorded.windows(r"C:\Users\ada\bin"),
        lambda _v: recorded.on_windows(recorded.windows(r"C:\Users\ada\bin")),
    )
    window = opened(engine)
    hand = Hand(window, keyboard=False)
    hand.press(window.stack.currentWidget().cards[0].fix_button.text())
    assert isinstance(hand.dialog, FixDialog)
    assert "does not work" in shown_text(hand.dialog)
    assert hand.button("Make these changes") is None
    hand.press("Close")
    assert not engine.journal.entries()


def test_a_fault_of_ours_in_a_fix_is_said_in_its_dialog(opened: Opened) -> None:
    report = recorded.report("shadowed")
    window = opened(Showing(report))  # its propose raises
    hand = Hand(window, keyboard=False)
    hand.press(window.stack.currentWidget().cards[0].fix_button.text())
    assert "Internal error in Convalesce: NotImplementedError" in shown_text(hand.dialog)
    hand.press("Close")
    assert not window.notice.isVisible()


def test_a_message_pasted_during_the_scan_is_explained_after_it(qtbot: QtBot, settings: QSettings) -> None:
    release = threading.Event()

    def examine(_watch: Progress) -> Report:
        release.wait(10)
        return recorded.report("sub-library missing")

    controller = Controller(Showing(examine))
    window = Window(controller, settings)
    window.show()
    window.start()
    window.open_message()
    window.explain_page.text.setPlainText("Could not load library libcudnn_cnn.so.9")
    window.explain_page.find_button.click()
    with qtbot.waitSignal(controller.explained, timeout=10_000):
        release.set()
    assert window.stack.currentWidget() is window.explain_page
    qtbot.waitUntil(lambda: "Proved on this computer" in shown_text(window.explain_page))
    put_away([window])


def test_causes_that_a_text_almost_rules_out_are_not_shown(opened: Opened, qtbot: QtBot) -> None:
    window = opened(Showing(reports.BROKEN))
    window.open_message()
    window.explain_page.text.setPlainText("/usr/bin/ld: cannot find -lcuda: No such file or directory")
    window.explain_page.find_button.click()
    qtbot.waitUntil(lambda: "from the text alone" in shown_text(window.explain_page), timeout=10_000)
    assert re.findall(r"alone: [01] %", shown_text(window.explain_page)) == []


def test_an_unwritable_report_is_said(opened: Opened, tmp_path: Path) -> None:
    window = opened(Showing(reports.BROKEN))
    window.errands.save_to(tmp_path / "no" / "such" / "folder.json")
    assert "could not be written" in window.notice.saying.text()
    window.errands.save_to(tmp_path / "report.json")
    assert "was saved to" in window.notice.saying.text()
    assert b'"schema": 1' in (tmp_path / "report.json").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="reads /proc; tests/windows/test_writing.py asks Windows")
def test_programs_with_the_old_variables_are_named(tmp_path: Path) -> None:
    def process(number: int, name: str, **variables: str) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "comm").write_text(f"{name}\n")
        (folder / "environ").write_bytes(b"".join(f"{n}={v}\0".encode() for n, v in variables.items()))

    process(100, "jupyter-lab", HOME="/h", CUDA_VISIBLE_DEVICES="-1")
    process(101, "new-shell", HOME="/h")
    process(102, "kworker")
    process(103, "in-the-venv", VIRTUAL_ENV="/v")
    gone = SetVariable(name="CUDA_VISIBLE_DEVICES", scope="user", before=Value(text="-1"), after=None)
    assert linux_processes.with_old_variables((gone,), str(tmp_path)) == ("jupyter-lab",)
    steps = SetVariable(name="LD_LIBRARY_PATH", scope="environment", at="/v", after=Value(text="drop /x"))
    assert linux_processes.with_old_variables((steps,), str(tmp_path)) == ("in-the-venv",)
    assert linux_processes.with_old_variables((), str(tmp_path)) == ()
    assert linux_processes.with_old_variables((gone,), str(tmp_path / "no")) is None


@pytest.mark.skipif(sys.platform == "win32", reason="reads /proc")
def test_running_programs_are_known_by_their_scripts(tmp_path: Path) -> None:
    def process(number: int, name: str, *command: str) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "comm").write_text(f"{name}\n")
        (folder / "cmdline").write_bytes(b"".join(w.encode() + b"\0" for w in command))

    process(100, "python3", "/v/bin/python3", "-u", "/home/ada/train.py", "--epochs", "3")
    process(101, "python3", "python3", "-m", "jupyterlab")
    process(102, "ollama", "/usr/bin/ollama", "serve")
    process(103, "bash", "bash")
    process(104, "python3")
    found = linux_processes.own_programs(("python", "ollama"), str(tmp_path))
    assert [(p.pid, p.name) for p in found] == [(102, "ollama"), (101, "jupyterlab"), (100, "train.py")]
    assert linux_processes.own_programs(("python",), str(tmp_path / "no")) == ()


def test_an_empty_report_is_no_trouble(opened: Opened) -> None:
    window = opened(Showing(Report(snapshot=Snapshot(machine=Machine(system="linux")))))
    for row in range(len(window.pages)):
        window.steps.setCurrentRow(row)
        assert window.pages[row].title in shown_text(window.pages[row]) or row == len(window.pages) - 1
