"""Measure the window: ``python -m tests.benchmarks.window``. Ratios in one run, so that the machine's load cancels out.

First paint, of the empty frame and of the whole first screen, against a bare PySide6 window with one label (each in a
process of its own, alternating); the longest stall of the event loop while the largest recorded machine is diagnosed, against
a bare window's beside the same load; and peak memory after walking through all of its details. A row that misses fails.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from installer.by_hand import by_hand

if TYPE_CHECKING:
    from core.common.progress import Progress
    from core.model.findings import Report

ROUNDS = 9
STALL_ROUNDS = 5
MAX_FIRST_PAINT, MAX_FIRST_SCREEN, MAX_STALL = 1.3, 1.8, 1.5
"""Times that of a bare window."""
MAX_MEMORY = 120
"""MB."""
AFTERWARDS = 200
"""Milliseconds in which the window paints what it was told."""
BARE = """
import sys, time
start = time.perf_counter()
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow
class Label(QLabel):
    def paintEvent(self, event):
        super().paintEvent(event)
        QTimer.singleShot(0, lambda: (print(time.perf_counter() - start), app.exit()))
app = QApplication(sys.argv[:1])
window = QMainWindow()
window.setCentralWidget(Label("Hello"))
window.resize(1000, 700)
window.show()
app.exec()
"""
OURS = """
import sys, time
start = time.perf_counter()
from PySide6.QtCore import QEvent, QObject, QSettings, QTimer
from gui.window.app import FirstPaint, WindowLoader, make_application
from gui.window.frame import Frame
app = make_application()
class Eye(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint and not self.seen:
            self.seen = True
            print(time.perf_counter() - start)
            QTimer.singleShot(0, app.exit)
        return False
eye = Eye()
eye.seen = False
class Watched(Frame):
    def show_content(self, window):
        window.road.current.primary.installEventFilter(eye)
        super().show_content(window)
        assert eye.seen, "the wizard begins before it is painted"
        assert "core.doctor.scan" not in sys.modules, "the engine was loaded on the window's thread"
settings = QSettings(sys.argv[1], QSettings.Format.IniFormat)
frame = Watched(settings)
held = WindowLoader(frame, settings)
def there():
    print(time.perf_counter() - start)
    held.load_window()
FirstPaint(frame, there)
frame.show()
app.exec()
frame.close()
"""


def first_paint(code: str, scratch: str) -> tuple[float, ...]:
    """Return the seconds from the code's start to the first paint; of ours, also to that of the whole wizard."""
    compiled = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}  # as installed programs are
    done = subprocess.run(
        [sys.executable, "-c", code, f"{scratch}/settings.ini"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path.cwd(),
        env=compiled,
    )
    return tuple(float(t) for t in done.stdout.split())


class Pulse:
    """Beats as often as it can; the longest pause between two beats is the longest stall (seconds)."""

    def __init__(self) -> None:
        from PySide6.QtCore import QTimer

        self.longest = 0.0
        self._last = time.perf_counter()
        self._timer = QTimer()
        self._timer.setInterval(0)
        self._timer.timeout.connect(self.beat)
        self._timer.start()

    def beat(self) -> None:
        """Take the time since the last beat."""
        now = time.perf_counter()
        self.longest = max(self.longest, now - self._last)
        self._last = now

    def take(self) -> float:
        """Return the longest pause so far, and begin anew."""
        longest, self.longest = self.longest, 0.0
        return longest


def looking(watch: Progress) -> Report:
    """Diagnose the largest recorded machine, and say as much as a real scan does."""
    from tests.gui import recorded

    for section in ("driver", "environment", "pythons", "toolkits", "cudnn", "loads"):
        watch.section(section, "looking")
        watch.say(f"Looking at {section}")
        time.sleep(0.05)
        watch.section(section, "looked")
    return recorded.report("everything broken")


def stalls(*, ours: bool) -> dict[str, float]:
    """Return the longest stall (s) during a scan: of the wizard on its four screens, or of a bare window beside the same load.

    Of the wizard also the longest while walking through all details, and the peak memory (MB) after it.
    """
    import tempfile

    from PySide6.QtCore import QEventLoop, QSettings, QTimer
    from PySide6.QtWidgets import QLabel, QMainWindow

    from gui.controller import Controller
    from gui.window.app import make_application
    from gui.window.wizard import Wizard
    from tests.gui.engines import Showing

    app = make_application()
    controller = Controller(Showing(looking))
    with tempfile.TemporaryDirectory() as scratch:
        window = QMainWindow()
        wizard = None
        if ours:
            wizard = Wizard(controller, QSettings(f"{scratch}/s.ini", QSettings.Format.IniFormat))
            window.setCentralWidget(wizard)
        else:
            window.setCentralWidget(QLabel("Hello"))
        window.resize(1000, 700)
        window.show()
        app.processEvents()
        loop = QEventLoop()  # as the application's own: it leaves the interpreter to the worker while it waits
        controller.report_changed.connect(lambda: QTimer.singleShot(AFTERWARDS, loop.quit))
        if wizard:
            wizard.road.look_at("")
        else:
            controller.scan()
        pulse = Pulse()
        loop.exec()
        told = {"scan": pulse.take()}
        if wizard:
            details = wizard.open_details()
            pulse.take()
            for row in range(len(details.pages)):
                details.steps.setCurrentRow(row)
                QTimer.singleShot(AFTERWARDS, loop.quit)
                loop.exec()
            told |= {"walk": pulse.take(), "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
        controller.close()
        window.close()
    return told


def stalls_beside(ours: str) -> dict[str, float]:
    """Measure in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.window", ours], capture_output=True, text=True, check=True
    )
    told: dict[str, float] = json.loads(done.stdout)
    return told


def main(arguments: list[str]) -> int:
    """Print a row for each thing that is measured; return 1 where one misses."""
    import tempfile

    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if arguments:  # the child that is measured
        print(json.dumps(stalls(ours=arguments == ["ours"])))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        first_paint(BARE, scratch), first_paint(OURS, scratch)  # what is read from disk once is not what is measured
        rounds = [(*first_paint(BARE, scratch), *first_paint(OURS, scratch)) for _ in range(ROUNDS)]
    bare, there, whole = (min(times) for times in zip(*rounds, strict=True))  # what else the computer does only adds
    beside = [(stalls_beside("bare"), stalls_beside("ours")) for _ in range(STALL_ROUNDS)]
    calm, busy = (min(pair[i]["scan"] for pair in beside) for i in (0, 1))
    walk, memory = (max(mine[what] for _bare, mine in beside) for what in ("walk", "memory"))
    rows = (
        ("first paint, beside a bare window", there / bare, MAX_FIRST_PAINT),
        ("the whole first screen, beside a bare window", whole / bare, MAX_FIRST_SCREEN),
        ("longest stall during a scan, beside a bare window's", busy / calm, MAX_STALL),
        ("peak memory on the largest machine, MB", memory, MAX_MEMORY),
    )
    print(f"bare {bare * 1000:.0f} ms, frame {there * 1000:.0f} ms, whole {whole * 1000:.0f} ms; ", end="")
    print(f"stalls {calm * 1000:.0f} and {busy * 1000:.0f} ms, {walk * 1000:.0f} ms walking through all details")
    for what, found, most in rows:
        print(f"{'ok    ' if found <= most else 'MISSED'} {what}: {found:.2f} (at most {most})")
    return 0 if all(found <= most for _what, found, most in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "[PART]")))
