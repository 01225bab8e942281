"""Run a program to its end, its time-out or a cancelled watch; nothing that it started outlives the call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import IO, Any, Protocol

from core.common import turns
from core.common.fact_text import fact_text
from core.common.progress import Progress
from core.host.answer_pipe import AnswerPipe
from core.host.exit_status import describe_exit
from core.host.interface import Account, CompletedProcess, ProgramKind

MAX_STREAM_BYTES = 4 << 20
"""Bytes of each stream that are kept; what comes after is read and dropped."""

_GRACE = 5.0
"""Seconds to wait for a killed process to end; one that hangs inside the kernel never does."""

_DRAIN = 3.0
"""Seconds to read the rest of a pipe. Only a descendant in its own session can hold one open for longer."""


def run_program(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    input: bytes = b"",
    watch: Progress | None = None,
    account: Account | None = None,
    kind: ProgramKind = "program",
) -> CompletedProcess:
    """Run a program, feed it ``input`` and return its output and how it ended. Implements ``Host.run`` on every system.

    ``timeout`` is in seconds. At the time-out, when the watch is cancelled, and when the program ends and leaves others
    behind, its whole process group (Windows: its job) is killed. The program's failure never raises.
    """
    if watch is not None and watch.cancelled:
        return CompletedProcess(status=None, ended=fact_text("was not started: the work was cancelled"))
    with turns.others_turn():  # a start, too, waits: until the child has a processor
        try:
            pipe = AnswerPipe() if kind == "answering" else None
            process = _start(argv, env, account, pipe, kind)
        except (OSError, ValueError) as e:  # ValueError: a NUL or an unencodable character in an argument
            ended = fact_text("could not be started: {e}", e=_reason(e))
            return CompletedProcess(status=None, ended=ended, started=False)
        return _Running(process, input, watch.on_output if watch else _ignore_output, pipe).finish(timeout, watch)


class _Tree(Protocol):
    """A process with all its descendants."""

    def kill(self) -> None: ...

    def wait(self) -> None:
        """Wait for the process' end, kill what it left behind, and collect its exit status."""

    def mapped_files(self) -> Iterable[str]:
        """Return the files that it has mapped."""


class _Group:
    """A process group. The lock prevents a signal from reaching an unrelated process that reuses the id."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()

    def kill(self) -> None:
        with self._lock:
            if sys.platform != "win32" and self._process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self) -> None:
        if sys.platform != "win32":
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self.kill()
        with self._lock:
            self._process.wait()
        if sys.platform != "win32":
            from core.host.linux import leash

            leash.end(self._process.pid)

    def mapped_files(self) -> Iterable[str]:
        from core.host.linux.processes import mapped_files

        return mapped_files(self._process.pid)


class _Running:
    """A started process: one thread for each pipe and one for its end, so that nothing has to poll."""

    def __init__(
        self, process: subprocess.Popen[bytes], input: bytes, hear: Callable[[bytes], None], pipe: AnswerPipe | None
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._tree = _tree(process)
        self._happened: SimpleQueue[str] = SimpleQueue()
        self._out, self._err = bytearray(), bytearray()
        self._mapped: dict[str, None] = {}
        if pipe:
            printed, answered = (
                _thread(_keep, process.stdout, self._err, _ignore_output),
                _keep_and_report(self._out, hear),
            )
            self._readers = (printed, _thread(pipe.read_to_end, answered, self._look))
        else:
            assert process.stderr is not None
            self._readers = (
                _thread(_keep, process.stdout, self._out, hear),
                _thread(_keep, process.stderr, self._err, _ignore_output),
            )
        _thread(_feed, process.stdin, input)
        self._waiter = _thread(self._wait)

    def _wait(self) -> None:
        self._tree.wait()
        self._happened.put("ended")

    def _look(self) -> None:
        self._mapped |= dict.fromkeys(self._tree.mapped_files())

    def finish(self, timeout: float, watch: Progress | None) -> CompletedProcess:
        """Wait for whichever comes first, kill the rest, and describe the end."""
        cancelled = watch.on_cancel(lambda: self._happened.put("cancelled")) if watch else nullcontext()
        what = "interrupted"
        try:
            with cancelled:
                what = self._happened.get(timeout=max(timeout, 0))
        except Empty:
            what = "time-out"
        finally:
            if what != "ended":
                self._tree.kill()
        self._waiter.join(_GRACE)
        deadline = time.monotonic() + _DRAIN
        for reader in self._readers:
            reader.join(max(deadline - time.monotonic(), 0))
        return self._to_completed_process(what, timeout)

    def _to_completed_process(self, what: str, timeout: float) -> CompletedProcess:
        status = None if self._waiter.is_alive() else self._process.returncode
        ended = describe_exit(status, "windows" if sys.platform == "win32" else "linux")
        if what == "time-out":
            ended = fact_text("did not end within {timeout} seconds and was stopped", timeout=f"{timeout:g}")
        elif what == "cancelled":
            ended = fact_text("was stopped: the work was cancelled")
        if status is None:
            ended = fact_text("{ended}; it could not be killed, so it hangs inside the operating system", ended=ended)
        return CompletedProcess(
            status=status,
            out=_text(self._out),
            err=_text(self._err),
            ended=ended,
            timed_out=what == "time-out",
            mapped=tuple(self._mapped),
        )


def _tree(process: subprocess.Popen[bytes]) -> _Tree:
    if sys.platform == "win32":
        from core.host.windows.job import Job

        return Job(process)
    return _Group(process)


def _start(
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    account: Account | None,
    answers: AnswerPipe | None,
    kind: ProgramKind,
) -> subprocess.Popen[bytes]:
    if answers:
        env = {**(os.environ if env is None else env), **answers.child_environment}
    with answers.handed_over() if answers else nullcontext(()) as ends:
        if sys.platform == "win32":
            from core.host.windows.job import start_process

            return start_process(argv, env, ends)
        from core.host.linux import leash

        pipe = subprocess.PIPE
        rights: dict[str, Any] = {}
        if account:
            rights = {"user": account.uid, "group": account.gid, "extra_groups": account.groups}
        if kind == "tool":
            rights["preexec_fn"] = leash.limit_processes

        def make() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT if ends else pipe, env=env, bufsize=0,
                start_new_session=True, cwd="/", pass_fds=ends, **rights,
            )  # fmt: skip

        return leash.start(make, leashed=kind in ("tool", "interpreter"))


def _thread(work: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


def _keep(stream: IO[bytes], kept: bytearray, hear: Callable[[bytes], None]) -> None:
    with stream:
        while chunk := stream.read(1 << 16):
            kept += chunk[: MAX_STREAM_BYTES - len(kept)]
            hear(chunk)


def _keep_and_report(kept: bytearray, hear: Callable[[bytes], None]) -> Callable[[bytes], None]:
    def take(chunk: bytes) -> None:
        kept.extend(chunk[: MAX_STREAM_BYTES - len(kept)])
        hear(chunk)

    return take


def _ignore_output(_data: bytes) -> None:
    """Discard output."""


def _feed(stream: IO[bytes], data: bytes) -> None:
    with suppress(OSError), stream:  # A process may end without having read its input.
        view = memoryview(data)
        while view:
            view = view[stream.write(view) :]


def _text(data: bytearray) -> str:
    return bytes(data).decode("utf-8", "replace")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
