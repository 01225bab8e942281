"""How a process ended, in one plain sentence: exit statuses, POSIX signals and Windows NTSTATUS codes."""

from __future__ import annotations

from core.common.fact_text import fact_text
from core.model.facts import System

_SIGNALS: dict[int, tuple[str, str]] = {
    1: ("SIGHUP", fact_text("its terminal went away")),
    2: ("SIGINT", fact_text("it was interrupted")),
    3: ("SIGQUIT", fact_text("it was asked to quit")),
    4: ("SIGILL", fact_text("this processor does not know one of its instructions")),
    5: ("SIGTRAP", fact_text("it hit a breakpoint or gave up on an internal check")),
    6: ("SIGABRT", fact_text("it gave up by itself, usually after printing why")),
    7: ("SIGBUS", fact_text("a file is shorter than its headers say")),
    8: ("SIGFPE", fact_text("an arithmetic error")),
    9: ("SIGKILL", fact_text("somebody ended it, or the system ran out of memory")),
    11: ("SIGSEGV", fact_text("it used memory that is not there: a damaged or mismatched library")),
    13: ("SIGPIPE", fact_text("nobody read its output any more")),
    14: ("SIGALRM", fact_text("its own alarm went off")),
    15: ("SIGTERM", fact_text("it was asked to end")),
    24: ("SIGXCPU", fact_text("it used up its processor time")),
    25: ("SIGXFSZ", fact_text("it wrote a file beyond the size limit")),
    31: ("SIGSYS", fact_text("it made a system call that is forbidden here")),
}
"""Linux' numbers on x86 and arm (signal(7)); the same on every machine, so that a report replays anywhere."""

_NTSTATUS: dict[int, tuple[str, str]] = {
    0x80000003: ("STATUS_BREAKPOINT", fact_text("it hit a breakpoint or gave up on an internal check")),
    0xC0000005: (
        "STATUS_ACCESS_VIOLATION",
        fact_text("it used memory that is not there: a damaged or mismatched library"),
    ),
    0xC0000006: ("STATUS_IN_PAGE_ERROR", fact_text("a part of a file could not be read from its disk or share")),
    0xC0000017: ("STATUS_NO_MEMORY", fact_text("there was not enough memory")),
    0xC000001D: ("STATUS_ILLEGAL_INSTRUCTION", fact_text("this processor does not know one of its instructions")),
    0xC0000022: ("STATUS_ACCESS_DENIED", fact_text("it was not allowed to open something that it needs")),
    0xC000007B: (
        "STATUS_INVALID_IMAGE_FORMAT",
        fact_text("a library is for another architecture (32-bit and 64-bit mixed) or damaged"),
    ),
    0xC0000094: ("STATUS_INTEGER_DIVIDE_BY_ZERO", fact_text("an arithmetic error")),
    0xC00000FD: ("STATUS_STACK_OVERFLOW", fact_text("its stack overflowed")),
    0xC0000135: ("STATUS_DLL_NOT_FOUND", fact_text("a DLL that it needs at its start was not found")),
    0xC0000138: (
        "STATUS_ORDINAL_NOT_FOUND",
        fact_text("a DLL that it needs at its start is of another version: a numbered function is missing"),
    ),
    0xC0000139: (
        "STATUS_ENTRYPOINT_NOT_FOUND",
        fact_text("a DLL that it needs at its start is of another version: a function is missing"),
    ),
    0xC000013A: ("STATUS_CONTROL_C_EXIT", fact_text("it was interrupted")),
    0xC0000142: ("STATUS_DLL_INIT_FAILED", fact_text("a DLL that it needs could not initialise itself")),
    0xC0000374: ("STATUS_HEAP_CORRUPTION", fact_text("its memory was corrupted: a damaged or mismatched library")),
    0xC0000409: (
        "STATUS_STACK_BUFFER_OVERRUN",
        fact_text("it gave up by itself (this is also what abort() looks like)"),
    ),
    0xC0000420: ("STATUS_ASSERTION_FAILURE", fact_text("it gave up on an internal check")),
    0xC06D007E: (
        fact_text("delay load: module not found"),
        fact_text("a DLL that it loads on first use was not found"),
    ),
    0xC06D007F: (
        fact_text("delay load: procedure not found"),
        fact_text("a DLL that it loads on first use is of another version: a function is missing"),
    ),
    0xE06D7363: ("a C++ exception", fact_text("a C++ exception that nothing caught")),
}
"""Microsoft's [MS-ERREF] section 2.3 for the NTSTATUS values. 0xC06D007E and 0xC06D007F are Visual C++'s delay-load
helper (delayimp.h: severity and facility 0x6D over the Win32 errors 126 and 127); 0xE06D7363 is Visual C++'s throw.
0xC0000409 as abort(): the universal C run time's abort() calls __fastfail, whose code is reported so."""


def describe_exit(status: int | None, system: System) -> str:
    """Return how a process with this exit status ended; empty text for status 0.

    ``status`` is subprocess' return code: negative for a POSIX signal, an unsigned (or signed) 32-bit number on
    Windows, None for a process whose end was not observed.
    """
    if status is None:
        return fact_text("how it ended is not known")
    if status == 0:
        return ""
    return _windows(status) if system == "windows" else _posix(status)


def _posix(status: int) -> str:
    if status < 0:
        name, meaning = _SIGNALS.get(-status, (fact_text("signal {status}", status=-status), ""))
        what = fact_text("{name}: {meaning}", name=name, meaning=meaning) if meaning else name
        return fact_text("was killed by {name}", name=what)
    if status - 128 in _SIGNALS:  # A shell or a launcher passes its child's signal on in this way.
        name, meaning = _SIGNALS[status - 128]
        return fact_text(
            "ended with status {status}, which stands for {name}: {meaning}", status=status, name=name, meaning=meaning
        )
    return fact_text("ended with status {status}", status=status)


def _windows(status: int) -> str:
    code = status & 0xFFFFFFFF
    if code in _NTSTATUS:
        name, meaning = _NTSTATUS[code]
        return fact_text("ended with code 0x{code} ({name}): {meaning}", code=f"{code:08X}", name=name, meaning=meaning)
    return (
        fact_text("ended with code 0x{code}", code=f"{code:08X}")
        if code >= 0x80000000
        else fact_text("ended with status {status}", status=code)
    )
