"""The child's side of ``core.host.child``: read the order, do the work, write what it emits.

A scan starts five children, so each import here is paid for five times: import only what the work needs.
"""

from __future__ import annotations

import marshal
import os
import sys

from core.common import frozen
from core.common.fact_text import take_forms

TYPE_CHECKING = False  # Defined as in typing, whose import takes longer than the rest of this module.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

ANSWER_VARIABLE = "CONVALESCE_ANSWER"
"""Names the two pipes of a program that answers us (``core.host.answer_pipe``): where it says, where it waits."""


def main() -> NoReturn:
    """Read the order, do the work, and exit at once, so that no native library's exit handler can crash."""
    for name in frozen.child_variables():
        os.environ.pop(name, None)
    frozen.restore_dll_search()
    out, go = _answer_pipe()
    _standard_streams()
    work, parent, request, token = marshal.loads(_all_of(0))  # noqa: S302 - it comes from our own parent
    mark = b"\n" + token.encode()
    _be_quiet(parent)
    status = 0
    try:
        _answer_request(work, request, _Answer(out, go, mark))
        _write(out, mark + b".\n")
    except Exception as e:  # noqa: BLE001  # the edge of the process: it becomes data
        _end_as_windows_would(e)
        import traceback

        words = f"{type(e).__name__}: {e}"[:500].encode("utf-8", "backslashreplace").decode()
        _write(out, mark + b"!" + as_json(words) + b"\n")
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


class _Answer:
    """The child's messages to its parent."""

    def __init__(self, out: int, go: int, mark: bytes) -> None:
        self._out, self._go, self._mark = out, go, mark

    def event(self, event: bytes) -> None:
        """Send an event, preceded by the form of each sentence in it."""
        for form in take_forms():
            _write(self._out, self._mark + b"~" + as_json(form) + b"\n")
        _write(self._out, self._mark + b"+" + event + b"\n")

    def look(self) -> None:
        """Wait until the parent has read which files this process has mapped."""
        _write(self._out, self._mark + b"?\n")
        os.read(self._go, 1)

    def report_guards(self, guards: tuple[str, ...]) -> None:
        """Report the guards of the sandbox that are in force."""
        _write(self._out, self._mark + b"=" + as_json(guards) + b"\n")


def _end_as_windows_would(error: Exception) -> None:
    """End with the exit status that a crash would have given, which ctypes on Windows hides by raising OSError.

    An access violation has no number there ("exception: access violation reading 0x..."); other codes are in winerror.
    """
    if sys.platform != "win32" or not isinstance(error, OSError):
        return
    status = 0xC0000005 if "access violation" in str(error) else (error.winerror or 0) & 0xFFFFFFFF
    if status >= 0x80000000:  # a severity of warning or error: NTSTATUS, no Win32 error
        os._exit(status - (1 << 32))


def _answer_request(name: str, request: Any, answer: _Answer) -> None:
    module_name, _, function = name.partition(":")
    __import__(module_name)
    module = sys.modules[module_name]
    work = getattr(module, function)
    if getattr(module, "CAGED", False):
        from core.host import sandbox

        answer.report_guards(sandbox.enter())

    def emit(event: Any, encode: Callable[[Any], bytes] = as_json) -> None:
        answer.look() if event is None else answer.event(encode(event))

    if not isinstance(request, bytes):
        work(_to_struct(request), emit)
        return
    from typing import Any, get_type_hints

    import msgspec

    form = next((kind for argument, kind in get_type_hints(work).items() if argument != "return"), Any)
    work(msgspec.json.decode(request, type=form), lambda event: emit(event, msgspec.json.encode))


def _to_struct(value: Any) -> Any:
    """Return plain data as the frozen request has it: attributes in place of keys, tuples in place of lists."""
    if isinstance(value, dict):
        from types import SimpleNamespace

        return SimpleNamespace(**{name: _to_struct(inner) for name, inner in value.items()})
    return tuple(map(_to_struct, value)) if isinstance(value, (list, tuple)) else value


ESCAPES = {n: f"\\u{n:04x}" for n in range(32)} | {ord('"'): '\\"', ord("\\"): "\\\\"}


def as_json(value: Any) -> bytes:
    """Return plain data as JSON: dictionaries, lists, tuples, text, integers, True, False and None.

    The json module is not used: it imports re, which takes as long as starting the interpreter.

    Raises:
        UnicodeEncodeError: a text has half of a surrogate pair.
        TypeError: a value is of another type.
    """
    return _json(value).encode()


def _json(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value.translate(ESCAPES)}"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(n)}:{_json(v)}" for n, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_json, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON here")


def _answer_pipe() -> tuple[int, int]:
    """Return the two descriptors that the parent made, no longer inheritable."""
    numbers = [int(n) for n in os.environ.pop(ANSWER_VARIABLE, "").split(",") if n.isdigit()]
    if len(numbers) != 2:
        os._exit(2)  # Another program started this one.
    if sys.platform == "win32":
        import msvcrt

        for handle in numbers:
            os.set_handle_inheritable(handle, False)
        said, go = (msvcrt.open_osfhandle(handle, os.O_BINARY) for handle in numbers)
        return said, go
    for number in numbers:
        os.set_inheritable(number, False)
    return numbers[0], numbers[1]


def _standard_streams() -> None:
    sys.stdout, sys.stderr = (
        open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115  # as long as we live
        for descriptor in (1, 2)  # A windowed program has none.
    )


def _all_of(descriptor: int) -> bytes:
    chunks = []
    while chunk := os.read(descriptor, 1 << 16):
        chunks.append(chunk)
    return b"".join(chunks)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _be_quiet(parent: int) -> None:
    """Prevent core dumps, error dialogs, outliving the parent, and the loss of buffered C output at a crash."""
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
