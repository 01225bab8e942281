"""A second process of a scan: what it sends counts, and what it does not send the scan examines itself."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from core.common.fact_text import fact_text, form_of
from core.common.progress import Progress
from core.doctor import second_process
from core.host.this_host import this_host
from core.loader.earlier_reads import EarlierReads, earlier_or_new, using
from core.model.facts import PythonEnvironment, Snapshot, Unexamined, Vocabulary
from core.probes.probe import Probe, ProbeRequest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Windows has no fork")


@pytest.fixture
def request_(monkeypatch: pytest.MonkeyPatch) -> ProbeRequest:
    monkeypatch.setattr(second_process, "is_possible", lambda _request: True)
    host = this_host()
    return ProbeRequest(host=host, seen=Snapshot(machine=host.machine()), env={}, watch=Progress())


def found(word: str) -> tuple[Vocabulary, ...]:
    return (Vocabulary(prefix=word, variable="XLA_FLAGS", files=()),)


PYTHON = PythonEnvironment(prefix="/env", executable="/env/bin/python", version="3.12.1")
HERE = Probe("vocabularies", lambda _request: found("here"))


Given = Callable[[], second_process.Sections | None]


def looked(request: ProbeRequest, examine: second_process.Examine, *, whole: bool = True) -> object:
    other = Probe("tools", lambda _request: ())
    second = second_process.second_process([other, HERE], request, examine)
    assert second is not None
    assert second.probes == [HERE]
    (probe,) = second.begin(request.seen if whole else None)
    assert (probe is HERE) is not whole
    return probe.look(request)


def test_what_it_sends_counts(request_: ProbeRequest) -> None:
    missed: list[Unexamined] = []
    lost = Unexamined(path="/net", what="imports", seconds=3.0)

    def examine(_probes: list[Probe], given: Given) -> Snapshot:
        assert given() == {"pythons": (PYTHON,)}
        text = fact_text("{file} of the copy is damaged", file="/a")
        assert earlier_or_new("key", "identity", int, os.getpid) == os.getpid()
        return replace(request_.seen, vocabularies=found(text), unexamined=(lost,))

    store = EarlierReads()
    seen = replace(request_.seen, pythons=(PYTHON,))
    with using(store):
        assert looked(replace(request_, miss=missed.append, seen=seen), examine) == found("/a of the copy is damaged")
        assert earlier_or_new("key", "identity", int, lambda: 0) not in (0, os.getpid()), (
            "it is cached for the next scan"
        )
    assert form_of("/a of the copy is damaged") == ("{file} of the copy is damaged", {"file": "/a"})
    assert missed == [lost]
    assert store.has_news


def crashes(_probes: list[Probe], _given: Given) -> Snapshot | None:
    raise RuntimeError


def ends(_probes: list[Probe], _given: Given) -> Snapshot | None:
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def waits(_probes: list[Probe], _given: Given) -> Snapshot | None:
    return None


@pytest.mark.parametrize("examine", [crashes, ends, waits])
def test_what_it_does_not_send_is_examined_here(request_: ProbeRequest, examine: second_process.Examine) -> None:
    assert looked(request_, examine) == found("here")


def test_it_ends_where_what_it_needs_is_not_whole(request_: ProbeRequest) -> None:
    def examine(_probes: list[Probe], given: Given) -> Snapshot | None:
        return request_.seen if given() is not None else None

    assert looked(request_, examine, whole=False) == found("here")


def test_an_answer_that_is_cut_off_is_none(request_: ProbeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def cut(pipe: int, data: bytes) -> int:
        write(pipe, bytes(data)[:-1])
        os._exit(0)

    def examine(_probes: list[Probe], _given: Given) -> Snapshot:
        monkeypatch.setattr(os, "write", cut)  # in the copy alone
        return replace(request_.seen, vocabularies=found("there"))

    assert looked(request_, examine) == found("here")


def test_it_ends_with_the_scan_that_is_cancelled(request_: ProbeRequest) -> None:
    def examine(_probes: list[Probe], _given: Given) -> Snapshot | None:
        while True:
            os.read(ends_of_pipe[0], 1)

    ends_of_pipe = os.pipe()
    request_.watch.cancel()
    assert looked(request_, examine) == found("here")


def test_no_copy_is_made_beside_other_threads_or_for_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    host = this_host()
    request = ProbeRequest(host=host, seen=Snapshot(machine=host.machine()), env={}, watch=Progress())
    monkeypatch.setattr(second_process, "number_of_processors", lambda: 2)
    monkeypatch.setattr(os, "listdir", lambda _folder: ["1"])
    assert second_process.is_possible(request)
    assert not second_process.is_possible(replace(request, thorough=True))
    assert not second_process.is_possible(replace(request, host=object()))
    monkeypatch.setattr(os, "listdir", lambda _folder: ["1", "2"])
    assert not second_process.is_possible(request)
    monkeypatch.setattr(os, "listdir", lambda _folder: ["1"])
    with using(EarlierReads()):
        assert not second_process.is_possible(request), "a first scan has children that read ahead"
    monkeypatch.setattr(second_process, "number_of_processors", lambda: 1)
    assert not second_process.is_possible(request)
