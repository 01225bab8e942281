"""The kernel log's lines that matter, and the time of the last resume from suspend."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable

import msgspec

from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.host import provenance
from core.model.facts import path_text
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

RELEVANT_LINE = late_pattern(
    r"NVRM|nvidia|nouveau|\bXid\b|key was rejected|unsigned module|module verification|Lockdown:", re.I
)
MAX_LINES = 200
"""The newest lines that are kept."""
MAX_BYTES = 4 << 20
LOG_TIMEOUT_SECONDS = 1.0
"""Seconds for reading /dev/kmsg; each call returns one record."""
LOG_FILES = ("/var/log/kern.log", "/var/log/messages")
CLOCK_TOLERANCE_SECONDS = 1.0
"""Seconds by which the two clocks may differ although the system did not sleep."""

_RESUME = late_pattern(r"^\[\s*(\d+\.\d+)\] PM: suspend exit")
_START = late_pattern(r"\bLinux version \d")


class KernelLog(msgspec.Struct, frozen=True):
    """The relevant lines, and the kernel's time of the last resume that they mention (seconds since boot)."""

    lines: tuple[str, ...]
    resumed: float | None = None


def kernel_log(request: ProbeRequest, where: Sysroot) -> KernelLog | None:
    """Return the content of the kernel log; None if this user may not read it.

    First /dev/kmsg, then dmesg (which uses a system call and may be allowed although the file is not), then the log
    files.
    """
    raw = _kmsg(where)
    if raw is None:
        env = provenance.trusted_environment(request.env)
        done = request.host.run(["dmesg"], timeout=2.0, env=env, watch=request.watch)
        raw = done.out.splitlines() if done.status == 0 and done.out else None
    if raw is None:
        content = next((t for f in LOG_FILES if (t := _tail(f, where))), None)
        raw = since_start(content.splitlines()) if content else None
    return sift_lines(raw) if raw is not None else None


def sift_lines(raw: Iterable[str]) -> KernelLog:
    """Keep the relevant lines, printable, and the time of the last resume."""
    resumed = None
    kept = []
    for line in raw:
        if m := _RESUME.match(line):
            resumed = float(m[1])
        if RELEVANT_LINE.search(line):
            kept.append(line[:500])
    return KernelLog(lines=tuple(kept[-MAX_LINES:]), resumed=resumed)


def since_start(lines: list[str]) -> list[str]:
    """Drop a log file's lines from earlier starts of the system."""
    starts = [n for n, line in enumerate(lines) if _START.search(line)]
    return lines[starts[-1] :] if starts else lines


def format_record(raw: str) -> list[str]:
    """Return a record of /dev/kmsg in dmesg's format.

    Format: Documentation/ABI/testing/dev-kmsg of the kernel.
    """
    head, semicolon, message = raw.partition(";")
    fields = head.split(",")
    microseconds = whole_number(fields[2]) if semicolon and len(fields) >= 3 else None
    if microseconds is None:
        return []
    return [f"[{microseconds / 1e6:12.6f}] {message.partition(chr(10))[0]}"]


def _kmsg(where: Sysroot) -> list[str] | None:
    """Read all records without waiting for new ones; None if it does not exist or may not be read."""
    try:
        descriptor = os.open(where.local_path("/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISCHR(os.fstat(descriptor).st_mode):
            return None
        return _records(descriptor)
    finally:
        os.close(descriptor)


def _records(descriptor: int) -> list[str]:
    lines: list[str] = []
    end = time.monotonic() + LOG_TIMEOUT_SECONDS
    total = 0
    while total < MAX_BYTES and time.monotonic() < end:
        try:
            data = os.read(descriptor, 8192)
        # The kernel overwrote the record; the next read continues with the oldest remaining one.
        except BrokenPipeError:
            continue
        except OSError:  # EAGAIN: no more records
            break
        if not data:
            break
        total += len(data)
        lines += format_record(path_text(data))
    return lines


def _tail(path: str, where: Sysroot) -> str | None:
    seen = where.stat(path)
    if seen is None or not stat.S_ISREG(seen.st_mode):
        return None
    try:
        with open(where.local_path(path), "rb") as stream:  # noqa: PTH123 - a regular file, seen above
            stream.seek(max(0, seen.st_size - MAX_BYTES))
            return path_text(stream.read(MAX_BYTES))
    except OSError:
        return None


def resumed_at(
    log: KernelLog | None, booted: float | None, where: Sysroot, *, now: float, asleep: float | None
) -> float | None:
    """Return when the system last resumed; 0.0 if it has not slept since it started, None if unknown.

    ``asleep``: the total seconds of sleep. The kernel log's "PM: suspend exit" gives the moment (its clock stops during
    sleep, so the time is only counted back from now if the log has that line). Otherwise the earliest possible moment
    is returned: the start of the system plus all its sleep.
    """
    count = where.text("/sys/power/suspend_stats/success", 64)
    slept = asleep is not None and asleep > CLOCK_TOLERANCE_SECONDS
    counted = (whole_number((count or "").strip()) or 0) > 0
    if not slept and not counted:
        return 0.0 if asleep is not None or count is not None else None
    if booted is None:
        return None
    if log is not None and log.resumed is not None:
        return min(now, booted + (asleep or 0.0) + log.resumed)
    return booted + (asleep or 1.0)
