"""Measure the window: ``python -m tests.benchmarks.window``. Ratios in one run, so that the machine's load cancels out.

First paint, of the empty frame and of the whole wizard, against a bare PySide6 window with one label (each in a process of
its own, alternating), the longest stall of the event loop while the largest recorded machine is scanned and walked
through, and peak memory on it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 7
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
    def hold(self, window):
        window.road.current.primary.installEventFilter(eye)
        super().hold(window)
        assert eye.seen, "the wizard begins before it is painted"
        assert "core.doctor.scan" not in sys.modules, "the engine was loaded on the window's thread"
settings = QSettings(sys.argv[1], QSettings.Format.IniFormat)
frame = Watched(settings)
held = WindowLoader(frame, settings)
def there():
    print(time.perf_counter() - start)
    held.make()
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


def stalls(machine: str) -> tuple[float, float, float]:
    """Return the longest stall (s) while a machine is scanned, the longest while walking on, and peak memory (MB)."""
    import resource
    import tempfile

    from PySide6.QtCore import QEventLoop, QSettings, QTimer

    from core.common.progress import Progress
    from core.model.findings import Report
    from gui.controller import Controller
    from gui.window.app import make_application
    from gui.window.window import Window
    from tests.gui import recorded
    from tests.gui.engines import Showing

    def examine(watch: Progress) -> Report:
        """Diagnose the machine on the worker's thread, and say as much as a real scan does."""
        for section in ("driver", "environment", "pythons", "toolkits", "cudnn", "loads"):
            watch.section(section, "looking")
            watch.say(f"Looking at {section}")
            time.sleep(0.05)
            watch.section(section, "looked")
        return recorded.report(machine)

    app = make_application()
    with tempfile.TemporaryDirectory() as scratch:
        controller = Controller(Showing(examine))
        window = Window(controller, QSettings(f"{scratch}/s.ini", QSettings.Format.IniFormat))
        window.show()
        app.processEvents()
        pulse = Pulse()
        loop = QEventLoop()  # as the application's own: it leaves the interpreter to the worker while it waits
        controller.report_changed.connect(lambda: QTimer.singleShot(AFTERWARDS, loop.quit))
        window.start()
        loop.exec()
        scan = pulse.take()
        for row in range(len(window.pages)):
            window.steps.setCurrentRow(row)
            QTimer.singleShot(AFTERWARDS, loop.quit)
            loop.exec()
        walk = pulse.take()
        window.close()
        window.deleteLater()
    return scan, walk, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Print the ratios; return 1 where one is missed."""
    import tempfile

    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as scratch:
        first_paint(BARE, scratch), first_paint(OURS, scratch)  # what is read from disk once is not what is measured
        rounds = [(*first_paint(BARE, scratch), *first_paint(OURS, scratch)) for _ in range(ROUNDS)]
    bare, there, whole = (statistics.median(times) for times in zip(*rounds, strict=True))
    for name, ours in (("the frame", there), ("the whole wizard", whole)):
        print(f"{name}: bare {bare * 1000:.0f} ms, ours {ours * 1000:.0f} ms, ratio {ours / bare:.2f} (at most 2)")
    scan, walk, memory = stalls("everything broken")
    print(f"longest stall: scan {scan * 1000:.0f} ms (under 50), walking through the pages {walk * 1000:.0f} ms")
    print(f"peak memory on the largest machine: {memory:.0f} MB (under 200)")
    return 0 if whole <= 2 * bare and scan < 0.05 and memory < 200 else 1


if __name__ == "__main__":
    raise SystemExit(main())
