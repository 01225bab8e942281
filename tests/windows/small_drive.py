"""A drive with room for half a megabyte, for tests of a full volume: S: in the lab, a file system of its own in memory.

It is mounted in a mount namespace of the run alone, which the kernel takes away with the last program of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

from tests.windows.lab import Lab

SIZE = 512 << 10
VARIABLE = "CONVALESCE_SMALL_DRIVE"
"""Names the drive to the tests, where there is one."""


def small_drive(lab: Lab) -> tuple[list[str], dict[str, str]]:
    """Return the words before a command that mount the drive for it, and the variable; nothing where that is not allowed.

    Raises:
        SystemExit: it must be possible (CONVALESCE_LAB=required), and is not.
    """
    folder = lab.folder / "small"
    folder.mkdir(exist_ok=True)
    mount = f"mount -t tmpfs -o size={SIZE} tmpfs '{folder}'"
    unshare = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    if sys.platform != "linux" or os.geteuid() or subprocess.run([*unshare, "true"], check=False).returncode:
        if os.environ.get("CONVALESCE_LAB") == "required":
            raise SystemExit(
                "This machine allows no mounts of its own (unshare --mount), which a test of Windows needs."
            )
        return [], {}
    with suppress(FileExistsError):
        (lab.prefix / "dosdevices/s:").symlink_to(folder)
    return unshare, {VARIABLE: "S:\\"}
