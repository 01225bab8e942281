"""A second process for some probes of a scan, where there is a second processor.

The interpreter runs one thread at a time. A scan that has no other thread yet forks: the copy runs the probes of ``ITS_SECTIONS``, with
what they need, and sends their sections and what the next scan should find in its cache. It only saves time: whatever it does not send,
since it crashed, came too late or met a path that does not respond, the scan examines itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
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

BEFORE = ("environment", "pythons", "cudnn")
"""What both processes need is examined before."""

LONGEST_END_SECONDS = 0.02
"""Seconds in which a thread leaves the system's list after its end."""

MOST_SECONDS = 60
"""Seconds after which the system ends the copy; each of its probes has as much time at least."""


class Part(msgspec.Struct, frozen=True):
    """What the copy found."""

    sections: dict[str, msgspec.Raw] = {}
    missed: tuple[Unexamined, ...] = ()
    told: tuple[Execution, ...] = ()
    forms: tuple[tuple[str, dict[str, str]], ...] = ()
    news: bytes = b""
    used: tuple[str, ...] = ()
    answers: Answers | None = None


Examine = Callable[[list[Probe]], Snapshot | None]
"""Runs some of the probes; None where a path did not respond."""


class SecondProcess:
    """The copy, as the scan sees it."""

    def __init__(self, process: int, pipe: int) -> None:
        self._process, self._pipe = process, pipe
        self._lock = threading.Lock()
        self._part: Part | None = None
        self._taken: set[str] = set()

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
        with ONE_AT_A_TIME:
            return msgspec.msgpack.decode(found, type=_section_types()[probe.section])

    def _read(self) -> Part:
        """Return the copy's answer when it has ended; an empty one if it has none."""
        chunks = []
        while chunk := os.read(self._pipe, 1 << 20):
            chunks.append(chunk)
        os.close(self._pipe)
        with suppress(OSError):
            os.waitpid(self._process, 0)
        try:
            with ONE_AT_A_TIME:
                part = msgspec.msgpack.decode(b"".join(chunks), type=Part)
        except (msgspec.DecodeError, ValueError):
            return Part()
        for message, values in part.forms:
            remember_form(message, values)
        if part.answers is not None:
            learn_answers(part.answers)
        if store := store_in_use():
            store.take(part.news, part.used)
        return part

    def _end(self) -> None:
        with suppress(OSError):
            os.kill(self._process, signal.SIGKILL)


@cache
def _section_types() -> dict[str, Any]:
    return get_type_hints(Snapshot)


def is_possible(request: ProbeRequest) -> bool:
    """Whether there is a processor for a copy, and nothing that it would lack: another thread, or what is not this machine."""
    if sys.platform != "linux" or type(request.host) is not type(this_host()) or request.thorough or request.trials:
        return False
    with suppress(OSError):
        return len(os.listdir("/proc/self/task")) == 1 and number_of_processors() > 1  # noqa: PTH208 - names alone
    return False


def divided(probes: list[Probe], request: ProbeRequest, examine: Examine) -> list[Probe]:
    """Return the probes; where a second process can do some of them, those only wait for it.

    A first scan has children that read ahead, and threads that wait for them: it has no copy.
    """
    its = [p for p in probes if p.section in ITS_SECTIONS]
    possible, since = is_possible(request), time.monotonic()
    while not (possible or _reads_ahead()) and time.monotonic() - since < LONGEST_END_SECONDS:
        time.sleep(0.0002)  # a thread whose work has ended is there a little longer
        possible = is_possible(request)
    if not its or not possible:
        return probes
    pipe, end = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(pipe)
        _work(end, its, examine)
    os.close(end)
    second = SecondProcess(process, pipe)
    return [replace(p, look=partial(second.look, p)) if p in its else p for p in probes]


def _reads_ahead() -> bool:
    return any(thread.name == KEY for thread in threading.enumerate())


def _work(pipe: int, its: list[Probe], examine: Examine) -> NoReturn:
    """Examine, answer and end: the copy must not return to what its parent was doing."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(MOST_SECONDS)
        known = known_answers().count()
        seen = examine(its)
        if seen is not None:
            found = {p.section: value for p in its if (value := getattr(seen, p.section)) is not None}
            failed = {e.probe for e in seen.errors}
            store = store_in_use()
            part = Part(
                sections={n: msgspec.Raw(msgspec.msgpack.encode(v)) for n, v in found.items() if n not in failed},
                missed=seen.unexamined,
                told=seen.executions,
                forms=tuple(forms_in((tuple(found.values()), seen.unexamined, seen.executions))),
                news=store.news() if store else b"",
                used=store.used if store else (),
                answers=known_answers() if known_answers().count() > known else None,
            )
            answer = memoryview(msgspec.msgpack.encode(part))
            while answer:
                answer = answer[os.write(pipe, answer) :]
    finally:
        os._exit(0)
