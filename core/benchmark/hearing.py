"""Hearing a child while it speaks: progress sentences for the person, and what the last step was."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from core.benchmark.protocol import Said
from core.common.progress import Progress
from core.host.child import TOKEN


class Ear:
    """Takes a child's bytes as they come and hands each whole event on."""

    def __init__(self, heard: Callable[[Said], None]) -> None:
        self._heard = heard
        self._rest = b""
        self._decoder = msgspec.json.Decoder(Said)

    def __call__(self, data: bytes) -> None:
        """Take some bytes; what is not an event is passed over, for the parent reads everything once more at the end."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            token, plus, event = line.partition(b"+")
            if plus and len(token) <= TOKEN:
                try:
                    said = self._decoder.decode(event)
                except msgspec.DecodeError:
                    continue
                self._heard(said)


def telling(watch: Progress, prefix: str = "") -> Progress:
    """Return a watch that tells a child's steps through ``watch``; use it together with ``following``."""
    return Progress(
        watch.say, heard=Ear(lambda said: watch.say(prefix + _sentence(said.begin)) if said.begin else None)
    )


def _sentence(begin: str) -> str:
    return begin if begin.startswith("cu") else begin[:1].upper() + begin[1:]


class Background:
    """Work in a thread with a watch of its own, which ends it; the outer watch's cancellation ends it, too."""

    def __init__(self, work: Callable[[Progress], object], outer: Progress, heard: Callable[[Said], None]) -> None:
        self._watch = Progress(heard=Ear(heard))
        self._result: list[object] = []
        self._outer = outer
        self._thread = threading.Thread(target=lambda: self._result.append(work(self._watch)), daemon=True)

    def __enter__(self) -> Background:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._watch.cancel()
        self._thread.join(10)
