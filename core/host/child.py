"""Run one of our own functions in a child process, frozen or not. Native code is called only there.

The function has the form ``work(request, emit)``: it receives one frozen request and emits frozen events as it goes, so
that nothing is lost that was learnt before a crash. ``core.host.child_main`` is the child's side.

The order goes to the child's stdin in marshal's format: it comes from ourselves, and reading it needs no import. The
answer is JSON, since a library may have corrupted the memory that it came from. It has its own pipe
(``core.host.answer_pipe``), with one line for each event (``+`` and JSON; before it, ``~`` and JSON for the form of
each of its sentences) and a last line: ``.`` if the work ended normally, ``!`` and a text if it raised. Each line
starts with a line feed and a token that only the order contains: if any line lacks it, or follows the last one,
somebody else has written, and then no line counts. Whatever a native library prints goes to the standard streams. At a
line ``?`` (``emit(None)``) the parent reads which files are mapped; ``=`` and JSON name the guards of the sandbox that
are in force.

A module with ``PLAIN = True`` saves its children most of their start-up time, the import of msgspec and its
dependencies (30 of 45 ms): its functions receive a request with the same attributes, and emit dictionaries. Only the
parent uses the types. Measured over a scan with five children, medians of alternating runs on two busy cores: with one
set of types a scan takes 1.31 times the processor time and 1.13 times as long (16 pairs); with the standard library's
json alone, 1.05 times the processor time (12 pairs).
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from core.common import frozen
from core.common.decoding import ONE_AT_A_TIME
from core.common.fact_text import fact_text, remember_form

if TYPE_CHECKING:
    from core.common.progress import Progress
    from core.host.interface import Account, CompletedProcess, Host

R = TypeVar("R")
E = TypeVar("E")

MAX_OUTPUT_BYTES = 64 << 10
"""Characters of the libraries' own output that an Answer keeps."""

FORGED = fact_text("wrote something into the answer that is not ours: a library that was loaded tampers with it")

TOKEN = 16
"""Characters of an answer's token."""

_START = "import sys; sys.path += sys.argv[1:]; del sys.argv[1:]; from core.host.child_main import main; main()"


class ChildAnswer(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    """What a child reported, and how it ended."""

    events: tuple[E, ...] = ()
    output: str = ""
    """Whatever the libraries printed on stdout and stderr, at most 64 KiB, printable."""
    ended: str = ""
    """Empty when it ended well, else one sentence: "was killed by SIGBUS: a file is shorter than its headers say"."""
    timed_out: bool = False
    started: bool = True
    """False: the system refused to start it, so nothing was asked."""
    mapped: tuple[str, ...] = ()
    """The files that it had mapped when it asked for that to be read."""
    guards: tuple[str, ...] | None = None
    """Which guards of the sandbox held (``core.host.sandbox``); None for a child that is in none."""


def order_of(work: Callable[..., None], request: object, token: str = "") -> bytes:
    """Return the order that a child reads: the function's name ("module:function"), our process id, the request and the
    token.

    A child whose parent is not that process has been orphaned.

    Raises:
        ValueError: ``work`` is not at the top level of an importable module.
        UnicodeEncodeError: a name in the request is not valid text.
    """
    name = function_name(work)
    form: Any = msgspec.json.encode(request)
    if getattr(sys.modules[work.__module__], "PLAIN", False):
        form = msgspec.to_builtins(request)
    return marshal.dumps((name, os.getpid(), form, token))


def function_name(work: Callable[..., None]) -> str:
    """Return the name by which a child finds the function, "module:function".

    Raises:
        ValueError: the function is not at the top level of an importable module.
    """
    if work.__module__ == "__main__" or "." in work.__qualname__:
        raise ValueError(f"{work.__module__}.{work.__qualname__} can not be found by a child process")
    return f"{work.__module__}:{work.__qualname__}"


def child_command() -> list[str]:
    """Return the command line that starts a child of this program.

    From source, ``-I -S`` isolate our interpreter from the consumer's PYTHON* variables, working directory and start-up
    files. Under these options an editable install is not found either, so the two folders that hold ``core`` and our
    dependencies are passed explicitly. They come last in the search, so that nothing in them shadows the standard
    library.
    """
    if frozen.is_frozen():
        return [sys.executable, "--child"]
    from pathlib import Path

    folders = dict.fromkeys(
        str(Path(file).absolute().parents[up]) for file, up in ((__file__, 2), (msgspec.__file__, 1))
    )
    # On Windows a virtual environment's python.exe is only a launcher for the real one
    python = getattr(sys, "_base_executable", "") if sys.platform == "win32" else sys.executable
    return [python or sys.executable, "-I", "-S", "-u", "-X", "utf8", "-c", _START, *folders]


def ask_child(
    work: Callable[[R, Callable[[E | None], None]], None],
    request: R,
    event: type[E],
    *,
    host: Host,
    env: Mapping[str, str],
    timeout: float,
    watch: Progress | None = None,
    account: Account | None = None,
) -> ChildAnswer[E]:
    """Run ``work(request, emit)`` in a child with the environment ``env`` and return every event that it emitted.

    ``work`` must be a module-level function of ``core`` whose request parameter is annotated with its type. A child's
    failure never raises; a time-out (seconds) or a cancelled watch kills the child and its descendants. ``account``:
    the account whose rights the child gets; None for our own.

    Raises:
        ValueError: ``work`` is not at the top level of an importable module (a programming error).
    """
    try:
        order = order_of(work, request, token := os.urandom(TOKEN // 2).hex())
    except UnicodeEncodeError as e:
        return ChildAnswer(
            ended=fact_text("could not be asked: a name in the request is not valid text ({reason})", reason=e.reason)
        )
    env = {**env, **frozen.child_variables()}
    done = host.run(
        child_command(), timeout=timeout, env=env, input=order, watch=watch, account=account, kind="answering"
    )
    return read_answer(done, event, token)


def read_answer(completed: CompletedProcess, event: type[E], token: str = "") -> ChildAnswer[E]:
    """Return the answer of a finished child: its complete event lines, its output and its exit.

    With a ``token``, every line must begin with it, and nothing may follow the last one: anything else was written by
    somebody else.
    """
    with ONE_AT_A_TIME:
        decoder = msgspec.json.Decoder(event)
    events, forms, ended, finished = [], [], completed.ended, False
    guards: tuple[str, ...] | None = None
    for whole in completed.out.split("\n")[:-1]:  # what follows the last line feed is a line cut short
        if token and whole and (finished or not whole.startswith(token)):
            return ChildAnswer(
                output=_printable(completed.err)[:MAX_OUTPUT_BYTES], ended=FORGED, timed_out=completed.timed_out
            )
        line = whole.removeprefix(token)
        finished = finished or line == "."
        try:
            if line.startswith("+"):
                events.append(decoder.decode(line[1:]))
            elif line.startswith("="):
                guards = msgspec.json.decode(line[1:], type=tuple[str, ...])
            elif line.startswith("~"):
                forms.append(msgspec.json.decode(line[1:], type=tuple[str, dict[str, str]]))
            elif line.startswith("!"):
                ended = fact_text(
                    "stopped at an error of Convalesce's own: {str}", str=msgspec.json.decode(line[1:], type=str)
                )
        except msgspec.DecodeError as e:
            ended = ended or fact_text("said something that cannot be understood: {e}", e=e)
    for form in forms:
        remember_form(*form)
    if not ended and not finished:
        ended = fact_text("ended with status 0 before its work was done")
    output = _printable(completed.err)[:MAX_OUTPUT_BYTES]
    return ChildAnswer(
        events=tuple(events),
        output=output,
        ended=ended,
        timed_out=completed.timed_out,
        started=completed.started,
        mapped=completed.mapped,
        guards=guards,
    )


def _printable(text: str) -> str:
    lines = text.replace("\r\n", "\n")
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in lines)
