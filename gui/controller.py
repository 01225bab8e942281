"""Controller: the only owner of threads. Turns the engine's methods into signals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from core.common.progress import CancelledError, Progress
from core.doctor.engine import Engine, Preview

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from core.doctor.named import Choice
    from core.model.facts import Snapshot
    from core.model.findings import Finding, Report

Work = Callable[[Progress], Any]
Then = Callable[[Any], None]


class Controller(QObject):
    """Runs one task at a time on one worker thread, and reports to the window by signals.

    The signals belong to this object and are emitted by the worker; their receivers live on the window's thread, where
    Qt delivers them. Signals of an earlier task that arrive after its end are dropped.
    """

    busy_changed = Signal(bool)
    progressed = Signal(str)
    section_changed = Signal(str, str)
    """A section of the Snapshot, and its state: "looking", "looked" or "failed"."""
    report_changed = Signal(object)
    history_changed = Signal(object)
    measured = Signal(object)
    """The report with the benchmark's results."""
    explained = Signal(object)
    proposed = Signal(object)
    finished = Signal(object)
    """An ActionResult: a plan was carried out, refused, rolled back or undone."""
    cancelled = Signal()
    taken = Signal(object)
    """A Given: the person's input, as read."""
    compared = Signal(str)
    """The differences between two computers, as lines."""
    failed = Signal(str)
    """An internal error, in one sentence."""
    _ended = Signal(object, object, object)

    def __init__(self, engine: Engine, executor: Executor | None = None) -> None:
        super().__init__()
        self._engine = engine
        self._given = executor
        self._watch: Progress | None = None
        self._waiting: Callable[[], None] | None = None
        self._closed = False
        self._changing = False
        self.running: tuple[Choice, ...] = ()
        """Programs that ran at the last scan, which the person may name."""
        self._ended.connect(self._end)

    @property
    def busy(self) -> bool:
        """Whether a task is running."""
        return self._watch is not None

    @property
    def changing(self) -> bool:
        """Whether the machine is being changed."""
        return self.busy and self._changing

    # --- actions: each does nothing while other work is running -------------------------------------------------------

    def scan(self, named: str = "") -> None:
        """Start to examine the machine; ``named``: examine what the person named first."""
        self._start(partial(self._scan, named), self._take_scan)

    def read_given(self, path: str = "", text: str = "") -> None:
        """Read the person's input once the running task has ended."""
        if self.busy:
            self._waiting = lambda: self.read_given(path, text)
            return
        self._start(lambda _watch: self._engine.read_given(path, text), self.taken.emit)

    def compare(self, here: Report, there: Report | None = None, path: str = "") -> None:
        """Compare two computers; the other one's report may be in a file."""
        self._start(lambda _watch: self._engine.compare(here, there, path), self.compared.emit)

    def run_instead(self, verb: Callable[[], None]) -> None:
        """Cancel the running task, and run this one once it has ended."""
        if not self.busy:
            verb()
            return
        self.cancel()
        self._waiting = verb

    def benchmark(self, report: Report, *, quick: bool) -> None:
        """Run the benchmark on the machine of a report."""
        self._start(partial(self._engine.benchmark, report, quick), self.measured.emit)

    def explain(self, text: str, snapshot: Callable[[], Snapshot | None]) -> None:
        """Explain an error text; if a scan is running, after it. ``snapshot`` returns what is known of the machine by then."""
        if self.busy:
            self._waiting = lambda: self.explain(text, snapshot)
            return
        known = snapshot()
        self._start(lambda _watch: self._engine.explain(text, known), self.explained.emit)

    def propose(self, finding: Finding, report: Report, source: str = "") -> None:
        """Plan a finding's fix and rehearse it."""
        self._start(partial(self._engine.propose, finding, report, source), self.proposed.emit)

    def apply(self, preview: Preview) -> None:
        """Carry a confirmed fix out."""
        self._start(partial(self._perform, partial(self._engine.apply, preview)), self._report_result)

    def undo(self, entries: tuple[str, ...]) -> None:
        """Undo entries of the history."""
        self._start(partial(self._perform, partial(self._engine.undo, entries)), self._report_result)

    def cancel(self) -> None:
        """Ask the running task to stop, and drop those that wait."""
        self._waiting = None
        if self._watch is not None:
            self._watch.cancel()

    def close(self) -> None:
        """Cancel, and wait until the worker has ended: no signal is emitted after this."""
        self.cancel()
        self._closed = True
        if self._given is not None:
            self._given.shutdown(wait=True, cancel_futures=True)

    # --- the worker -------------------------------------------------------------------------------------------

    def _start(self, work: Work, then: Then) -> None:
        if self._watch is not None or self._closed:
            return
        watch = Progress(
            self._only_from(lambda: watch, self.progressed), self._only_from(lambda: watch, self.section_changed)
        )
        self._watch = watch
        self._changing = then == self._report_result
        self.busy_changed.emit(True)
        self._executor().submit(self._run, work, then, watch)

    def _executor(self) -> Executor:
        """Return the only worker, created on first use, so that the window appears first."""
        if self._given is None:
            from concurrent.futures import ThreadPoolExecutor

            self._given = ThreadPoolExecutor(1, thread_name_prefix="doctor")
        return self._given

    def _only_from(self, watch: Callable[[], Progress], signal: Any) -> Callable[..., None]:
        def tell(*words: str) -> None:
            if self._watch is watch() and not self._closed:
                signal.emit(*words)

        return tell

    def _run(self, work: Work, then: Then, watch: Progress) -> None:
        try:
            result = work(watch)
        except CancelledError:
            self._ended.emit(then, None, "")
        except Exception as e:  # noqa: BLE001 - the window's edge: a fault of ours becomes a sentence
            self._ended.emit(then, None, f"{type(e).__name__}: {e}")
        else:
            self._ended.emit(then, result, "")

    def _end(self, then: Then, result: object, problem: str) -> None:
        """End the task, so that the next may start (called on the window's thread)."""
        if self._closed:
            return
        self._watch = None
        self.busy_changed.emit(False)
        if problem:
            self.failed.emit(problem)
        elif result is None:
            if self._waiting is None:  # It only made way for the next task.
                self.cancelled.emit()
        else:
            then(result)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()

    # --- pieces of work ---------------------------------------------------------------------------------------

    def _scan(self, named: str, watch: Progress) -> object:
        report = self._engine.examine(watch, named)
        watch.check()  # A cancelled examination has no result.
        import gui.pages.details
        import gui.road.answer  # noqa: F401 - they are needed next, and loading them here delays nothing

        return report, self._engine.history(), self._engine.running_programs()

    def _take_scan(self, result: Any) -> None:
        report, history, running = result
        self.running = running
        self.history_changed.emit(history)
        self.report_changed.emit(report)

    def _perform(self, act: Work, watch: Progress) -> object:
        return act(watch), self._engine.history()

    def _report_result(self, result: Any) -> None:
        done, history = result
        self.history_changed.emit(history)
        self.finished.emit(done)
