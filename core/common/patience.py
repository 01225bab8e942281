"""Time limits for the file system: a call that never returns delays nothing else, and its path is not accessed again.

A thread that is stuck inside the operating system (a dead network folder) cannot be stopped. So daemon threads read
foreign files and declare, by ``call_patiently``, which path they are waiting for. After LIMIT seconds the thread is
abandoned, the path counts as silent, and the work starts again. From then on every call on a silent path fails at once
with an OSError, and everything else is examined.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from core.common.turns import FIRST, LAST, Turns, others_turn

T = TypeVar("T")
R = TypeVar("R")
Answer = tuple[T | None, BaseException | None]
"""A result, or the exception that was raised."""

CALL_TIMEOUT_SECONDS = 3.0
"""Seconds that one call of the file system may take; a healthy one takes microseconds, a sleeping disk or server one or two."""

TURN_SECONDS = 0.3
"""Seconds that one call may take before others work meanwhile."""

MAX_SILENT_PLACES = 4
"""Most silent paths before one piece of work is given up."""

FOLDER_TIMEOUT_SECONDS = 0.5
"""Seconds in which the folders above a silent path must respond; all are tried at once."""


class _LeftError(BaseException):
    """Ends an abandoned thread whose call has returned after all; no ``except Exception`` may catch it."""


class _Worker:
    """What one thread is waiting for."""

    __slots__ = ("left", "path", "patience", "since", "thread")

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.path: str = ""
        self.since = 0.0
        self.left = False
        self.thread = 0


_here = threading.local()
"""What this thread waits for, kept per thread: the functions that call the file system get no ``Patience`` as an argument."""


def call_patiently(call: Callable[..., T], path: str, *arguments: Any) -> T:
    """Return ``call(path, *arguments)``, a file-system call on ``path``.

    Raises:
        TimeoutError: the path, or a folder above it, did not respond before. It is an OSError. OSError, ValueError:
        whatever the call raises.
    """
    worker: _Worker | None = getattr(_here, "worker", None)
    if worker is None:
        return call(path, *arguments)
    if worker.left:
        raise _LeftError
    if worker.patience.silent and worker.patience.is_silent(path):
        raise TimeoutError(errno.ETIMEDOUT, "gives no answer", path)
    worker.since = time.monotonic()
    worker.path = path
    try:
        return call(path, *arguments)
    finally:
        worker.path = ""
        if worker.left:
            raise _LeftError


def is_silent(path: str) -> bool:
    """Whether a path does not respond. Outside ``Patience.run`` it tries the path, without a time limit."""
    try:
        call_patiently(os.stat, path)
    except TimeoutError:
        return True
    except (OSError, ValueError):
        pass
    return False


class Patience:
    """The silent paths that one examination of a machine has found; shared by all its threads."""

    def __init__(self, limit: float = CALL_TIMEOUT_SECONDS) -> None:
        self.limit = limit
        self.silent: tuple[str, ...] = ()
        """Files and folders, in the form of the running system; everything below them is meant as well."""
        self.turns = Turns()
        """Of all its threads."""
        self._lock = threading.Lock()

    def is_silent(self, path: str) -> bool:
        """Whether a path is, or is in, a silent place."""
        path = os.fsdecode(path)
        return any(path == place or path.startswith(place.rstrip(os.sep) + os.sep) for place in self.silent)

    def run(
        self, work: Callable[[], T], waited: Callable[[float], object] = lambda _seconds: None, *, rank: int = LAST
    ) -> T:
        """Return what ``work`` returns; it may be called several times, each time in another thread. ``waited`` is
        called with the seconds lost at each silent path. ``rank``: of its turn; the lowest comes first.

        Raises:
            TimeoutError: there were more silent paths than MOST. BaseException: whatever ``work`` raises.
        """
        for _attempt in range(MAX_SILENT_PLACES + 1):
            worker = _Worker(self)
            answers: SimpleQueue[Answer[T]] = SimpleQueue()
            start = time.monotonic()
            threading.Thread(
                target=_work, args=(worker, work, answers, rank), daemon=True, name=threading.current_thread().name
            ).start()
            with others_turn():
                answer = self._answer(worker, answers)
            if answer is not None:
                value, error = answer
                if error is not None:
                    raise error
                return value  # type: ignore[return-value]  # without an error it is what work returned
            waited(time.monotonic() - start)
        raise TimeoutError(errno.ETIMEDOUT, "too many places give no answer", self.silent[-1])

    def _answer(self, worker: _Worker, answers: SimpleQueue[Answer[T]]) -> Answer[T] | None:
        """Return a worker's result; None if it was abandoned, after recording the path that it waits for as silent."""
        while True:
            path, since = worker.path, worker.since
            left = since + self.limit - time.monotonic() if path else self.limit / 4
            if path and left <= 0 and (worker.path, worker.since) == (path, since):
                worker.left = True
                self.turns.pass_on(worker.thread)
                self.mark_silent(path)
                return None
            if path and (in_turn := since + TURN_SECONDS - time.monotonic()) > 0:
                left = min(left, in_turn)
            elif path:
                self.turns.pass_on(worker.thread)
            with suppress(Empty):
                return answers.get(timeout=max(left, 0.01))

    def mark_silent(self, path: str) -> None:
        """Record the folder of a stuck path as silent."""
        place = silent_place(os.fsdecode(path))
        with self._lock:
            if not self.is_silent(place):
                self.silent = (*self.silent, place)


def _work(worker: _Worker, work: Callable[[], T], answers: SimpleQueue[Answer[T]], rank: int) -> None:
    _here.worker, worker.thread = worker, threading.get_ident()
    try:
        with worker.patience.turns.turn(rank):
            found = work()
        answers.put((found, None))
    except _LeftError:
        pass
    except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
        answers.put((None, error))


def map_in_threads(items: Iterable[T], work: Callable[[T], R], *, threads: int = 2) -> list[R | None]:
    """Return ``work(item)`` of each item, in order, with several threads; each item has its own patience.

    None stands for an item that was given up because of paths that do not respond.

    Raises:
        Exception: the first that ``work`` raised, when all are done.
    """
    mine: _Worker | None = getattr(_here, "worker", None)
    patience = mine.patience if mine else Patience()
    todo = list(enumerate(items))
    results: list[R | None] = [None] * len(todo)
    errors: list[Exception] = []
    todo.reverse()

    def some() -> None:
        while todo:
            try:
                at, item = todo.pop()
            except IndexError:  # another thread took the last one
                return
            try:
                results[at] = patience.run(lambda item=item: work(item), rank=FIRST)  # type: ignore[misc]  # bound now, not when called
            except TimeoutError:
                continue
            except Exception as error:  # noqa: BLE001 - it is raised again below
                errors.append(error)

    crew = [threading.Thread(target=some, daemon=True) for _n in range(min(threads, len(todo)))]
    for thread in crew:
        thread.start()
    with others_turn():
        for thread in crew:
            thread.join()
    if errors:
        raise errors[0]
    return results


# --- which place it is ---------------------------------------------------------------------------------------------


def silent_place(path: str) -> str:
    """Return the topmost folder above a stuck path that does not respond either, else the path itself. A mount whose
    own folder still responds from a cache counts as silent if it cannot be listed.
    """
    above = [path]
    while (parent := os.path.dirname(above[-1])) != above[-1]:  # noqa: PTH120 - plain text, of a hanging place
        above.append(parent)
    mount = mount_of(path)
    answered: SimpleQueue[str] = SimpleQueue()

    def ask(folder: str) -> None:
        try:
            os.stat(folder)  # noqa: PTH116 - plain text
            if folder == mount:
                with os.scandir(folder) as entries:
                    next(entries, None)
        except OSError:
            pass
        answered.put(folder)

    for folder in above[1:]:
        threading.Thread(target=ask, args=(folder,), daemon=True).start()
    there: set[str] = set()
    end = time.monotonic() + FOLDER_TIMEOUT_SECONDS
    try:
        while len(there) < len(above) - 1:
            there.add(answered.get(timeout=max(end - time.monotonic(), 0)))
    except Empty:
        pass
    return next((folder for folder in reversed(above[1:]) if folder not in there), path)


def mount_of(path: str) -> str:
    """Return the mount point that a path is in, without following links; empty for the root's, or if unknown."""
    try:
        with open("/proc/self/mountinfo", "rb") as stream:  # noqa: PTH123 - a file of the kernel's, which always answers
            lines = stream.read().decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    found = (re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), line.split(" ")[4]) for line in lines)
    return max((m for m in found if m != "/" and (path + "/").startswith(m + "/")), key=len, default="")
