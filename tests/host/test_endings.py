"""How an end is put into words."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from core.host.exit_status import _NTSTATUS, _SIGNALS, describe_exit
from core.model.facts import System


@pytest.mark.parametrize(
    ("status", "system", "sentence"),
    [
        (0, "linux", ""),
        (0, "windows", ""),
        (None, "linux", "how it ended is not known"),
        (1, "linux", "ended with status 1"),
        (255, "linux", "ended with status 255"),
        (-7, "linux", "was killed by SIGBUS: a file is shorter than its headers say"),
        (-64, "linux", "was killed by signal 64"),
        (134, "linux", "ended with status 134, which stands for SIGABRT: it gave up by itself, usually after printing why"),
        (134, "windows", "ended with status 134"),
        (9, "windows", "ended with status 9"),
        (0xC0000409, "windows", "ended with code 0xC0000409 (STATUS_STACK_BUFFER_OVERRUN): it gave up by itself (this is also what abort() looks like)"),
        (-1073740791, "windows", "ended with code 0xC0000409 (STATUS_STACK_BUFFER_OVERRUN): it gave up by itself (this is also what abort() looks like)"),
        (0xC0000999, "windows", "ended with code 0xC0000999"),
    ],
)  # fmt: skip
def test_describe(status: int | None, system: System, sentence: str) -> None:
    assert describe_exit(status, system) == sentence


@pytest.mark.parametrize(
    "code", [0xC0000005, 0xC0000409, 0xC000007B, 0xC0000135, 0xC0000139, 0xC0000142, 0xC06D007E, 0xC06D007F]
)
def test_every_code_of_a_broken_dll_has_a_meaning(code: int) -> None:
    name, meaning = _NTSTATUS[code]
    assert name in describe_exit(code, "windows")
    assert meaning in describe_exit(code, "windows")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
def test_the_numbers_are_those_of_this_system() -> None:
    assert {signal.Signals(number).name for number in _SIGNALS} == {name for name, _ in _SIGNALS.values()}


def test_sentences_are_plain_text() -> None:
    everything = [describe_exit(-n, "linux") for n in range(1, 65)] + [
        describe_exit(code, "windows") for code in _NTSTATUS
    ]
    assert all(s and s[0].islower() and not s.endswith(".") for s in everything)
    assert json.dumps(everything).isascii()
