"""Run one of our own functions in a child process, frozen or not: native code is touched only there.

The function has the form ``work(request, emit)``: it gets one frozen request and emits frozen events as it goes, so
that what was learnt before a crash is not lost.

Parent and child speak JSON: the order on the child's stdin, then on a private copy of its stdout one line for each
event (``+`` and JSON) and a last line: ``.`` when the work came to its end, ``!`` and a text when it raised. Each starts with a line feed, so that it stays
whole even behind something that found its way to that stream. File descriptors 1 and 2 lead elsewhere, so
that nothing that a native library prints can mix in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import msgspec

from core import frozen

if TYPE_CHECKING:  # the child starts fast because it imports only what it needs
    from core.host import Completed, Host
    from core.watch import Watch

R = TypeVar("R")
E = TypeVar("E")

OUTPUT_LIMIT = 64 << 10
"""Characters of the libraries' own output that an Answer keeps."""

_START = "import sys; sys.path += sys.argv[1:]; del sys.argv[1:]; from core.child import main; main()"


class Answer(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    """What a child said, and how it ended."""

    events: tuple[E, ...] = ()
    output: str = ""
    """Whatever the libraries printed on stdout and stderr, at most 64 KiB, printable."""
    ended: str = ""
    """Empty when it ended well, else one sentence: "was killed by SIGBUS: a file is shorter than its headers say"."""
    timed_out: bool = False


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the child is to do: a function's name, "module:function", and its request."""

    work: str
    request: msgspec.Raw = msgspec.Raw(b"null")
    parent: int = 0
    """Our process number: a child that finds another parent is an orphan already."""


def name_of(work: Callable[..., None]) -> str:
    """Return the name under which a child finds the function, "module:function".

    Raises:
        ValueError: the function is not at the top level of an importable module.
    """
    if work.__module__ == "__main__" or "." in work.__qualname__:
        raise ValueError(f"{work.__module__}.{work.__qualname__} can not be found by a child process")
    return f"{work.__module__}:{work.__qualname__}"


def command() -> list[str]:
    """Return the command line that starts a child of this program.

    From source, ``-I -S`` keep the consumer's PYTHON* variables, current folder and start-up files away from our
    interpreter; the two folders that hold ``core`` and our libraries are handed over by name, since ``-I`` and ``-S``
    would not find an editable install either. They come last, so that nothing in them hides the standard library.
    """
    if frozen.is_frozen():
        return [sys.executable, "--child"]
    from pathlib import Path

    folders = dict.fromkeys(str(Path(file).absolute().parent.parent) for file in (__file__, msgspec.__file__))
    # On Windows a virtual environment's python.exe is only a launcher for the real one
    python = getattr(sys, "_base_executable", "") if sys.platform == "win32" else sys.executable
    return [python or sys.executable, "-I", "-S", "-u", "-X", "utf8", "-c", _START, *folders]


def ask(
    work: Callable[[R, Callable[[E], None]], None],
    request: R,
    event: type[E],
    *,
    host: Host,
    env: Mapping[str, str],
    timeout: float,
    watch: Watch | None = None,
) -> Answer[E]:
    """Run ``work(request, emit)`` in a child with the environment ``env`` and return every event that it emitted.

    ``work`` must be a module-level function of ``core``, annotated with its request's type. Never raises for
    anything that the child does; a time-out (seconds) or a cancelled watch kills the child and its descendants.

    Raises:
        ValueError: ``work`` is not at the top level of an importable module (a mistake of ours).
    """
    name = name_of(work)
    try:
        order = msgspec.json.encode(
            Order(work=name, request=msgspec.Raw(msgspec.json.encode(request)), parent=os.getpid())
        )
    except UnicodeEncodeError as e:
        return Answer(ended=f"could not be asked: a name in the request is not valid text ({e.reason})")
    env = {**env, **frozen.child_variables()}
    return read(host.run(command(), timeout=timeout, env=env, input=order, watch=watch), event)


def read(completed: Completed, event: type[E]) -> Answer[E]:
    """Return what a finished child said: its whole event lines, its output and its end."""
    decoder = msgspec.json.Decoder(event)
    events, ended, finished = [], completed.ended, False
    for line in completed.out.split("\n")[:-1]:  # what follows the last line feed is a line cut short
        finished = finished or line == "."
        try:
            if line.startswith("+"):
                events.append(decoder.decode(line[1:]))
            elif line.startswith("!"):
                ended = f"stopped at an error of Convalesce's own: {msgspec.json.decode(line[1:], type=str)}"
        except msgspec.DecodeError as e:
            ended = ended or f"said something that cannot be understood: {e}"
    if not ended and not finished:
        ended = "ended with status 0 before its work was done"
    output = _printable(completed.err)[:OUTPUT_LIMIT]
    return Answer(events=tuple(events), output=output, ended=ended, timed_out=completed.timed_out)


def _printable(text: str) -> str:
    lines = text.replace("\r\n", "\n")
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in lines)


# --- in the child ----------------------------------------------------------------------------------------


def main() -> NoReturn:
    """Be the child: read the order, do the work, and end at once, before any native library's exit code can crash."""
    for name in frozen.child_variables():
        os.environ.pop(name, None)
    out = _private_stdout()
    order = msgspec.json.decode(_all_of(0), type=Order)
    _be_quiet(order.parent)
    status = 0
    try:
        _do(order, lambda event: _write(out, b"\n+" + msgspec.json.encode(event) + b"\n"))
        _write(out, b"\n.\n")
    except Exception as e:  # noqa: BLE001  # the edge of the process: it becomes data
        _end_as_windows_would(e)
        import traceback

        words = f"{type(e).__name__}: {e}"[:500].encode("utf-8", "backslashreplace").decode()
        _write(out, b"\n!" + msgspec.json.encode(words) + b"\n")
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def _end_as_windows_would(error: Exception) -> None:
    """On Windows ctypes turns the crash of a function that it called into an OSError: end as that program would have.

    An access violation has no number there ("exception: access violation reading 0x..."); other codes are winerror.
    """
    if sys.platform != "win32" or not isinstance(error, OSError):
        return
    status = 0xC0000005 if "access violation" in str(error) else (error.winerror or 0) & 0xFFFFFFFF
    if status >= 0x80000000:  # a severity of warning or error: NTSTATUS, no Win32 error
        os._exit(status - (1 << 32))


def _do(order: Order, emit: Callable[[Any], None]) -> None:
    from importlib import import_module
    from inspect import get_annotations

    module, _, function = order.work.partition(":")
    work = getattr(import_module(module), function)
    annotations = get_annotations(work, eval_str=True)
    form = next((kind for name, kind in annotations.items() if name != "return"), Any)
    work(msgspec.json.decode(order.request, type=form), emit)


def _private_stdout() -> int:
    """Keep the original stdout for ourselves; from now on file descriptor 1 is the captured stream of 2."""
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout, sys.stderr = (
        open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115  # as long as we live
        for descriptor in (1, 2)  # a windowed program has none of its own
    )
    return out


def _all_of(descriptor: int) -> bytes:
    chunks = []
    while chunk := os.read(descriptor, 1 << 16):
        chunks.append(chunk)
    return b"".join(chunks)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _be_quiet(parent: int) -> None:
    """No core dump, no error dialog, no life without the parent, and no C output lost in a buffer at a crash."""
    import ctypes

    if sys.platform == "win32":
        import msvcrt

        msvcrt.SetErrorMode(
            msvcrt.SEM_FAILCRITICALERRORS | msvcrt.SEM_NOGPFAULTERRORBOX | msvcrt.SEM_NOOPENFILEERRORBOX
        )
        unbuffered = 4  # _IONBF in Microsoft's stdio.h; a library with a C run time of its own keeps its buffer
        ucrt = ctypes.CDLL("ucrtbase")
        ucrt.__acrt_iob_func.restype = ctypes.c_void_p
        ucrt.setvbuf(ctypes.c_void_p(ucrt.__acrt_iob_func(1)), None, unbuffered, ctypes.c_size_t(0))
        msvcrt_dll = ctypes.CDLL("msvcrt")
        msvcrt_dll.__iob_func.restype = ctypes.c_void_p
        stdout = msvcrt_dll.__iob_func() + 48  # the second FILE of the array, each of 48 bytes in a 64-bit process
        msvcrt_dll.setvbuf(ctypes.c_void_p(stdout), None, unbuffered, ctypes.c_size_t(0))
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL (prctl(2)): the job object's counterpart
    if parent and os.getppid() != parent:
        os._exit(1)
    libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, 2, 0)  # 2 = _IONBF
