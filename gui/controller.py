"""Controller: the only owner of threads. Turns the doctor's verbs into signals."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from PySide6.QtCore import QObject, Signal

from core.findings import Report
from core.watch import CancelledError, Watch

Examine = Callable[[Watch], Report]


class Controller(QObject):
    """Runs one piece of work at a time on one worker thread, and tells the window about it by signals."""

    busy_changed = Signal(bool)
    progressed = Signal(str)
    section_changed = Signal(str, str)
    """A section of the Snapshot and "looking", "looked" or "failed"."""
    report_changed = Signal(object)
    failed = Signal(str)

    def __init__(self, examine: Examine, executor: Executor | None = None) -> None:
        super().__init__()
        self._examine = examine
        self._executor = executor or ThreadPoolExecutor(1, thread_name_prefix="doctor")
        self._watch: Watch | None = None

    @property
    def busy(self) -> bool:
        """Whether work is under way."""
        return self._watch is not None

    def scan(self) -> None:
        """Start looking at the machine; does nothing while work is under way."""
        if self._watch is None:
            self._start(self._scan)

    def cancel(self) -> None:
        """Ask the work that is under way to stop."""
        if self._watch is not None:
            self._watch.cancel()

    def close(self) -> None:
        """Cancel, and wait until the worker has ended: no signal is sent after this."""
        self.cancel()
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _start(self, work: Callable[[Watch], None]) -> None:
        watch = Watch(self.progressed.emit, self.section_changed.emit)
        self._watch = watch
        self.busy_changed.emit(True)
        self._executor.submit(self._run, work, watch)

    def _run(self, work: Callable[[Watch], None], watch: Watch) -> None:
        try:
            work(watch)
        except CancelledError:
            pass
        except Exception as e:  # noqa: BLE001 - the window's edge: a fault of ours becomes a sentence
            self.failed.emit(f"{type(e).__name__}: {e}")
        finally:
            self._watch = None
            self.busy_changed.emit(False)

    def _scan(self, watch: Watch) -> None:
        report = self._examine(watch)
        if not watch.cancelled:
            self.report_changed.emit(report)
