"""A sandbox for a child process that loads a library only to learn its answer: no new processes, no network, no access
to other processes.

It needs Linux with seccomp(2), on one of the two architectures that NVIDIA's libraries are built for. Since nothing
inside can start a process or leave the process group, killing the group leaves nothing behind.
"""

from __future__ import annotations

import ctypes
import os
import sys

NO_NEW_PRIVILEGES, SET_SECCOMP, MODE_FILTER = 38, 22, 2
"""prctl(2)."""
OWN_NETWORK, OWN_ACCOUNTS = 0x40000000, 0x10000000
"""CLONE_NEWNET and CLONE_NEWUSER, unshare(2). Without rights a network of one's own needs accounts of one's own; root keeps its
rights, without which it could not read what a person closed to others."""
FILTER, NETWORK = "seccomp", "network namespace"
"""The two guards: a filter of system calls, and a network namespace of its own, without sockets of other programs."""
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NOT_PERMITTED, NO_SUCH_CALL = 1, 38
_LOAD, _IS, _AT_LEAST, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Instructions of a filter: linux/bpf_common.h."""
CALL, PROCESSOR, FIRST = 0, 4, 16
"""Offsets in seccomp_data."""
OTHER_NUMBERS = 0x40000000
"""x86_64: calls in the form of x32."""
A_THREAD = 0x10000
"""CLONE_THREAD."""
WITHIN, KERNEL = 1, 16
"""AF_UNIX, AF_NETLINK: what stays on this machine."""

MACHINES: dict[str, tuple[int, dict[str, int], tuple[int, ...]]] = {
    "x86_64": (
        0xC000003E,
        {"clone": 56, "kill": 62, "tgkill": 234, "socket": 41, "clone3": 435},
        (57, 58, 101, 109, 112, 129, 200, 297, 311, 424, 425, 438),
    ),
    "aarch64": (
        0xC00000B7,
        {"clone": 220, "kill": 129, "tgkill": 131, "socket": 198, "clone3": 435},
        (117, 130, 138, 154, 157, 240, 271, 424, 425, 438),
    ),
}
"""Audit number of the architecture (linux/audit.h), calls whose arguments are checked, and refused calls: fork, vfork, ptrace,
setpgid, setsid, rt_sigqueueinfo, tkill, rt_tgsigqueueinfo, process_vm_writev, pidfd_send_signal, io_uring_setup,
pidfd_getfd.
"""


def enter() -> tuple[str, ...]:
    """Confine this process and all its threads; return the names of the guards that are in force."""
    if sys.platform != "linux":
        return ()
    libc = ctypes.CDLL(None)
    alone = libc.unshare(OWN_NETWORK if os.geteuid() == 0 else OWN_NETWORK | OWN_ACCOUNTS) == 0
    return (*((FILTER,) if _install_filter(libc) else ()), *((NETWORK,) if alone else ()))


def _install_filter(libc: ctypes.CDLL) -> bool:
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    rules = program(os.uname().machine, os.getpid())
    if not rules:
        return False
    code = b"".join(c.to_bytes(2, "little") + bytes((t, f)) + k.to_bytes(4, "little") for c, t, f, k in rules)
    kept = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    form = Program(len(rules), ctypes.addressof(kept))
    return bool(libc.prctl(SET_SECCOMP, MODE_FILTER, ctypes.byref(form), 0, 0) == 0)


def program(machine: str, own: int) -> list[tuple[int, int, int, int]]:
    """Return the filter's BPF instructions: (code, jump if true, jump if false, value)."""
    if machine not in MACHINES:
        return []
    processor, numbers, never = MACHINES[machine]
    refuse, allow = (_RETURN, 0, 0, ERRNO | NOT_PERMITTED), (_RETURN, 0, 0, ALLOW)
    out = [(_LOAD, 0, 0, PROCESSOR), (_IS, 1, 0, processor), refuse, (_LOAD, 0, 0, CALL)]
    if machine == "x86_64":
        out += [(_AT_LEAST, 0, 1, OTHER_NUMBERS), refuse]
    for call in never:
        out += [(_IS, 0, 1, call), refuse]
    out += [(_IS, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, ERRNO | NO_SUCH_CALL)]
    first = (_LOAD, 0, 0, FIRST)
    for name, tests in (
        ("clone", ((_HAS, A_THREAD),)),
        ("kill", ((_IS, own),)),
        ("tgkill", ((_IS, own),)),
        ("socket", ((_IS, WITHIN), (_IS, KERNEL))),
    ):
        block = [row for code, value in tests for row in ((code, 0, 1, value), allow)]
        out += [(_IS, 0, len(block) + 2, numbers[name]), first, *block, refuse]
    return [*out, allow]
