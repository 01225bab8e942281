"""A mount that never answers, made with FUSE and nobody behind it: ``python -m tests.dead_mount FOLDER COMMAND...``.

It is mounted in a namespace of its own, which ends with this process. Exit status 77: the system does not allow it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

NEW_NAMESPACE, RECURSIVE, PRIVATE, DETACH = 0x20000, 1 << 14, 1 << 18, 2
SECONDS = 60


def main(folder: str, command: list[str]) -> int:
    """Mount, run the command, and return its exit status."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return 77
    options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
    if (
        libc.unshare(NEW_NAMESPACE)
        or libc.mount(b"none", b"/", None, RECURSIVE | PRIVATE, None)
        or libc.mount(b"dead", os.fsencode(folder), b"fuse", 0, options)
    ):
        return 77
    try:
        return subprocess.run(command, check=False, timeout=SECONDS).returncode
    finally:
        libc.umount2(os.fsencode(folder), DETACH)
        os.close(fuse)  # whoever still waits for an answer gets an error


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
