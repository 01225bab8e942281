"""How a process ended, in one plain sentence: exit statuses, POSIX signals and Windows NTSTATUS codes."""

from __future__ import annotations

from core.model.facts import System

_SIGNALS: dict[int, tuple[str, str]] = {
    1: ("SIGHUP", "its terminal went away"),
    2: ("SIGINT", "it was interrupted"),
    3: ("SIGQUIT", "it was asked to quit"),
    4: ("SIGILL", "this processor does not know one of its instructions"),
    5: ("SIGTRAP", "it hit a breakpoint or gave up on an internal check"),
    6: ("SIGABRT", "it gave up by itself, usually after printing why"),
    7: ("SIGBUS", "a file is shorter than its headers say"),
    8: ("SIGFPE", "an arithmetic error"),
    9: ("SIGKILL", "somebody ended it, or the system ran out of memory"),
    11: ("SIGSEGV", "it used memory that is not there: a damaged or mismatched library"),
    13: ("SIGPIPE", "nobody read its output any more"),
    14: ("SIGALRM", "its own alarm went off"),
    15: ("SIGTERM", "it was asked to end"),
    24: ("SIGXCPU", "it used up its processor time"),
    25: ("SIGXFSZ", "it wrote a file beyond the size limit"),
    31: ("SIGSYS", "it made a system call that is forbidden here"),
}
"""Linux' numbers on x86 and arm (signal(7)); the same on every machine, so that a report replays anywhere."""

_NTSTATUS: dict[int, tuple[str, str]] = {
    0x80000003: ("STATUS_BREAKPOINT", "it hit a breakpoint or gave up on an internal check"),
    0xC0000005: ("STATUS_ACCESS_VIOLATION", "it used memory that is not there: a damaged or mismatched library"),
    0xC0000006: ("STATUS_IN_PAGE_ERROR", "a part of a file could not be read from its disk or share"),
    0xC0000017: ("STATUS_NO_MEMORY", "there was not enough memory"),
    0xC000001D: ("STATUS_ILLEGAL_INSTRUCTION", "this processor does not know one of its instructions"),
    0xC0000022: ("STATUS_ACCESS_DENIED", "it was not allowed to open something that it needs"),
    0xC000007B: (
        "STATUS_INVALID_IMAGE_FORMAT",
        "a library is for another architecture (32-bit and 64-bit mixed) or damaged",
    ),
    0xC0000094: ("STATUS_INTEGER_DIVIDE_BY_ZERO", "an arithmetic error"),
    0xC00000FD: ("STATUS_STACK_OVERFLOW", "its stack overflowed"),
    0xC0000135: ("STATUS_DLL_NOT_FOUND", "a DLL that it needs at its start was not found"),
    0xC0000138: (
        "STATUS_ORDINAL_NOT_FOUND",
        "a DLL that it needs at its start is of another version: a numbered function is missing",
    ),
    0xC0000139: (
        "STATUS_ENTRYPOINT_NOT_FOUND",
        "a DLL that it needs at its start is of another version: a function is missing",
    ),
    0xC000013A: ("STATUS_CONTROL_C_EXIT", "it was interrupted"),
    0xC0000142: ("STATUS_DLL_INIT_FAILED", "a DLL that it needs could not initialise itself"),
    0xC0000374: ("STATUS_HEAP_CORRUPTION", "its memory was corrupted: a damaged or mismatched library"),
    0xC0000409: ("STATUS_STACK_BUFFER_OVERRUN", "it gave up by itself (this is also what abort() looks like)"),
    0xC0000420: ("STATUS_ASSERTION_FAILURE", "it gave up on an internal check"),
    0xC06D007E: ("delay load: module not found", "a DLL that it loads on first use was not found"),
    0xC06D007F: (
        "delay load: procedure not found",
        "a DLL that it loads on first use is of another version: a function is missing",
    ),
    0xE06D7363: ("a C++ exception", "a C++ exception that nothing caught"),
}
"""Microsoft's [MS-ERREF] section 2.3 for the NTSTATUS values. 0xC06D007E and 0xC06D007F are Visual C++'s delay-load
helper (delayimp.h: severity and facility 0x6D over the Win32 errors 126 and 127); 0xE06D7363 is Visual C++'s throw.
0xC0000409 as abort(): the universal C run time's abort() calls __fastfail, whose code is reported so."""


def describe(status: int | None, system: System) -> str:
    """Return how a process with this exit status ended; empty text when it ended with status 0.

    ``status`` is subprocess' return code: negative for a POSIX signal, an unsigned (or signed) 32-bit number on
    Windows, None for a process whose end was not seen.
    """
    if status is None:
        return "how it ended is not known"
    if status == 0:
        return ""
    return _windows(status) if system == "windows" else _posix(status)


def _posix(status: int) -> str:
    if status < 0:
        name, meaning = _SIGNALS.get(-status, (f"signal {-status}", ""))
        return f"was killed by {name}" + (f": {meaning}" if meaning else "")
    if status - 128 in _SIGNALS:  # a shell or a launcher passes on its child's signal so
        name, meaning = _SIGNALS[status - 128]
        return f"ended with status {status}, which stands for {name}: {meaning}"
    return f"ended with status {status}"


def _windows(status: int) -> str:
    code = status & 0xFFFFFFFF
    if code in _NTSTATUS:
        name, meaning = _NTSTATUS[code]
        return f"ended with code 0x{code:08X} ({name}): {meaning}"
    return f"ended with code 0x{code:08X}" if code >= 0x80000000 else f"ended with status {code}"
