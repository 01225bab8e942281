"""A second process for some probes of a scan, where there is a second processor.

The interpreter runs one thread at a time. A scan that has no other thread yet forks: the copy imports the probes of ``ITS_SECTIONS`` while
the scan examines what they need, runs them, and sends their sections and what the next scan should find in its cache. It only saves time:
whatever it does not send, since it crashed, came too late or met a path that does not respond, the scan examines itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache, partial
from typing import Any, NoReturn, get_type_hints

import msgspec
from msgspec.structs import replace

from core.common.decoding import ONE_AT_A_TIME
from core.common.fact_text import forms_in, remember_form
from core.common.requirements import Answers, known_answers, learn_answers
from core.common.turns import others_turn
from core.host.this_host import this_host
from core.loader.earlier_reads import store_in_use
from core.model.facts import Execution, Snapshot, Unexamined
from core.probes.probe import Probe, ProbeRequest
from core.probes.python.following.read_ahead import KEY
from core.probes.python.following.reading_children import number_of_processors

ITS_SECTIONS = ("imports", "frameworks", "records", "starts", "vocabularies")
"""About half of a scan's work: nothing else reads them before the end."""

BEFORE = ("environment", "pythons")
"""What it needs of the scan."""

MOST_SECONDS = 60
"""Seconds after which the system ends the copy; each of its probes has as much time at least."""


class Part(msgspec.Struct, frozen=True):
    """What one process found, for the other."""

    sections: dict[str, msgspec.Raw] = {}
    missed: tuple[Unexamined, ...] = ()
    told: tuple[Execution, ...] = ()
    forms: tuple[tuple[str, dict[str, str]], ...] = ()
    news: bytes = b""
    used: tuple[str, ...] = ()
    answers: Answers | None = None


Sections = dict[str, Any]
Examine = Callable[[list[Probe], Callable[[], Sections | None]], Snapshot | None]
"""Runs some of the probes with the sections that they need, once these are there; None where there are none, or where a path did not
respond.
"""


class SecondProcess:
    """The copy, as the scan sees it."""

    def __init__(self, probes: list[Probe], process: int, order: int, answer: int) -> None:
        self.probes = probes
        """What it examines."""
        self._process, self._order, self._pipe = process, order, answer
        self._answers = known_answers().count()
        self._lock = threading.Lock()
        self._part: Part | None = None
        self._taken: set[str] = set()

    def begin(self, seen: Snapshot | None) -> list[Probe]:
        """Return probes that wait for the copy, which begins with what was found before; None ends it, and the scan has the probes itself.

        A first scan has children that read ahead: it has no copy.
        """
        if seen is None or _reads_ahead():
            self._end()
            for pipe in (self._order, self._pipe):
                os.close(pipe)
            with suppress(OSError):
                os.waitpid(self._process, 0)
            return self.probes
        given = _packed(seen, BEFORE, self._answers)
        threading.Thread(target=_write, args=(self._order, given), daemon=True, name="second").start()
        return [replace(p, look=partial(self.look, p)) for p in self.probes]

    def look(self, probe: Probe, request: ProbeRequest) -> Any:
        """Return a section that the copy examined; without an answer, examine it here."""
        with others_turn(), self._lock, request.watch.on_cancel(self._end):
            if self._part is None:
                self._part = self._read()
        found = self._part.sections.get(probe.section)
        if found is None:
            return probe.look(request)
        if not self._taken:
            for missed in self._part.missed:
                request.miss(missed)
            for told in self._part.told:
                request.tell(told)
        self._taken.add(probe.section)
        return _section(probe.section, found)

    def _read(self) -> Part:
        """Return the copy's answer when it has ended; an empty one if it has none."""
        data = _read_all(self._pipe)
        with suppress(OSError):
            os.waitpid(self._process, 0)
        return _taken(data) or Part()

    def _end(self) -> None:
        with suppress(OSError):
            os.kill(self._process, signal.SIGKILL)


@cache
def _section_types() -> dict[str, Any]:
    return get_type_hints(Snapshot)


def _section(name: str, data: msgspec.Raw) -> Any:
    with ONE_AT_A_TIME:
        return msgspec.msgpack.decode(data, type=_section_types()[name])


def is_possible(request: ProbeRequest) -> bool:
    """Whether a copy of this process would help and work: there is a second processor, this is the only thread, and the host is this machine."""
    if sys.platform != "linux" or type(request.host) is not type(this_host()) or request.thorough or request.trials:
        return False
    if (store := store_in_use()) and store.is_empty:  # children will read ahead
        return False
    with suppress(OSError):
        return len(os.listdir("/proc/self/task")) == 1 and number_of_processors() > 1  # noqa: PTH208 - names alone
    return False


def second_process(probes: list[Probe], request: ProbeRequest, examine: Examine) -> SecondProcess | None:
    """Start the copy; None where it has nothing to do, or is not possible."""
    its = [p for p in probes if p.section in ITS_SECTIONS]
    if not its or not is_possible(request):
        return None
    order, its_order = os.pipe()
    answer, its_answer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(its_order)
        os.close(answer)
        _work(order, its_answer, its, examine)
    os.close(order)
    os.close(its_answer)
    return SecondProcess(its, process, its_order, answer)


def _reads_ahead() -> bool:
    return any(thread.name == KEY for thread in threading.enumerate())


def _work(order: int, answer: int, its: list[Probe], examine: Examine) -> NoReturn:
    """Examine, answer and end: the copy must not return to what its parent was doing."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(MOST_SECONDS)

        answers = 0

        def before() -> Sections | None:
            nonlocal answers
            given = _taken(_read_all(order))
            answers = known_answers().count()
            return {n: _section(n, data) for n, data in given.sections.items()} if given else None

        seen = examine(its, before)
        if seen is not None:
            _write(answer, _packed(seen, [p.section for p in its], answers))
    finally:
        os._exit(0)


# --- both sides -------------------------------------------------------------------------------------------------------


def _packed(seen: Snapshot, names: Collection[str], answers: int) -> bytes:
    """Return sections, and what this process has learnt with them. ``answers``: the number of those that the other one has."""
    failed = {e.probe for e in seen.errors}
    found = {n: value for n in names if n not in failed and (value := getattr(seen, n)) is not None}
    store = store_in_use()
    part = Part(
        sections={n: msgspec.Raw(msgspec.msgpack.encode(v)) for n, v in found.items()},
        missed=seen.unexamined,
        told=seen.executions,
        forms=tuple(forms_in((tuple(found.values()), seen.unexamined, seen.executions))),
        news=store.news() if store else b"",
        used=store.used if store else (),
        answers=known_answers() if known_answers().count() > answers else None,
    )
    return msgspec.msgpack.encode(part)


def _taken(data: bytes) -> Part | None:
    """Take over the other process's caches, and return what it found; None if its answer is incomplete."""
    try:
        with ONE_AT_A_TIME:
            part = msgspec.msgpack.decode(data, type=Part)
    except (msgspec.DecodeError, ValueError):
        return None
    for message, values in part.forms:
        remember_form(message, values)
    if part.answers is not None:
        learn_answers(part.answers)
    if store := store_in_use():
        store.take(part.news, part.used)
    return part


def _read_all(pipe: int) -> bytes:
    chunks = []
    while chunk := os.read(pipe, 1 << 20):
        chunks.append(chunk)
    os.close(pipe)
    return b"".join(chunks)


def _write(pipe: int, data: bytes) -> None:
    rest = memoryview(data)
    with suppress(OSError):  # the other process has ended
        while rest:
            rest = rest[os.write(pipe, rest) :]
    os.close(pipe)
