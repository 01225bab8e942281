"""Restrictions on foreign tools that we start (nvcc): no new privileges, no core files, and nothing that they start
outlives them.

A thread drops its privileges and starts the tool, which inherits that. A process that leaves the tool's process group
is reparented to us when its parent ends (we are its subreaper meanwhile), and is recognised by the no-new-privileges
flag. The number of processes is limited where the kernel counts them separately: in a user namespace of their own, from
Linux 5.14 on (elsewhere it counts all of the account's: getrlimit(2), RLIMIT_NPROC). An administrator is never limited
by that, so an administrator's nvcc runs as the account nobody, if that account may execute it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

assert sys.platform != "win32"  # Windows uses a job object.

NO_NEW_PRIVILEGES, ITS_STATE, SUBREAPER = 38, 39, 36
"""PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER: prctl(2)."""
LARGEST_FILE = 64 << 20
"""Bytes of a file that a tool may write."""
OWN_ACCOUNTS, COUNTED_APART = 0x10000000, (5, 14)
"""CLONE_NEWUSER, unshare(2); the kernel release from which on limits apply to each user namespace (ucounts)."""
MOST_PROCESSES = 64
"""Maximum number of concurrent processes of a tool; nvcc starts three."""
MAX_ROUNDS = 100
"""Rounds of killing, since each killed process may leave others behind."""

Start = Callable[[], "subprocess.Popen[bytes]"]
# One per process, since children and the subreaper are the process's: a second set would take the first one's children for orphans.
_starting = threading.Lock()
_ours: set[int] = set()
"""Processes that we started and have not waited for."""
_tools: set[int] = set()


def limit_processes() -> None:
    """Limit the number of processes that this process can start. Call it in a child between fork and exec."""
    import resource

    if os.geteuid() == 0 or _kernel() < COUNTED_APART or ctypes.CDLL(None).unshare(OWN_ACCOUNTS) != 0:
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NPROC, (MOST_PROCESSES, MOST_PROCESSES))


def _kernel() -> tuple[int, ...]:
    return tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2] if n.isdigit())


def start(make: Start, *, leashed: bool) -> subprocess.Popen[bytes]:
    """Start a program, restricted if it is a tool. Call ``end`` after waiting for it.

    Raises:
        OSError, ValueError: as ``make`` does.
    """
    with _starting:
        process = _without_privileges(make) if leashed else make()
        _ours.add(process.pid)
        if leashed:
            _tools.add(process.pid)
    return process


def end(process: int) -> None:
    """Forget a program that was waited for; if it was a tool, kill what it left behind."""
    leashed = process in _tools
    _ours.discard(process)
    for _ in range(MAX_ROUNDS if leashed else 0):
        with _starting:
            left = list(_left_behind())
            for orphan in left:
                with suppress(OSError):
                    os.kill(orphan, signal.SIGKILL)
        for orphan in left:
            with suppress(OSError):
                os.waitpid(orphan, 0)
        if not left:
            break
    with _starting:
        _tools.discard(process)
        if leashed and not _tools:
            _prctl(SUBREAPER, 0)


def _without_privileges(make: Start) -> subprocess.Popen[bytes]:
    import resource

    made: list[subprocess.Popen[bytes]] = []
    failed: list[Exception] = []

    def work() -> None:
        _prctl(NO_NEW_PRIVILEGES, 1)
        try:
            made.append(make())
        except (OSError, ValueError) as e:
            failed.append(e)

    _prctl(SUBREAPER, 1)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    for kind, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, LARGEST_FILE)):
        with suppress(OSError):  # It may have ended already.
            resource.prlimit(made[0].pid, kind, (limit, limit))
    return made[0]


def _left_behind() -> Iterator[int]:
    """Yield our children that we did not start ourselves and that have the no-new-privileges flag: only a tool's descendants do."""
    if _prctl(ITS_STATE, 0) == 1:
        return  # so is everything here
    with suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as numbers:  # noqa: PTH123 - pathlib is one import more
        for number in map(int, numbers.read().split()):
            with suppress(OSError), open(f"/proc/{number}/status", encoding="utf-8", errors="replace") as status:  # noqa: PTH123 - as above
                if number not in _ours and "\nNoNewPrivs:\t1\n" in status.read():
                    yield number


def _prctl(what: int, value: int) -> int:
    return int(ctypes.CDLL(None).prctl(what, value, 0, 0, 0))
