"""A Linux system that does not run here: a mounted disk, or a container's host under /host. It is read, never run or loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from core.common.fact_text import fact_text
from core.host.interface import CompletedProcess, RunOptions
from core.host.linux.files import (
    container_of,
    is_wsl,
    os_release,
    pci_devices,
    processor_instructions,
    read_start,
    session_variables,
    tegra_of,
)
from core.host.linux.host import LinuxFacts
from core.loader import read_image
from core.loader.files import OtherRoot, path_under_root
from core.model.facts import Machine, PciDevice, Variable, path_text

PROGRAMS = ("/bin/sh", "/usr/bin/env", "/sbin/init", "/usr/lib/systemd/systemd")
"""Programs of nearly every system, whose headers tell its processor."""

LIBC_FOLDERS = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
MAX_LIBC_BYTES = 4 << 20
_GLIBC = re.compile(rb"GNU C Library \([^)\n]{0,80}\) stable release version (\d{1,3}\.\d{1,3})")
"""What libc.so.6 prints when it is run (glibc, csu/version.c)."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class _Inside:
    """A root whose links stay below it, as its own system would follow them."""

    def __init__(self, root: OtherRoot) -> None:
        self._root = root

    def __truediv__(self, name: str, /) -> Path:
        return Path(path_under_root(self._root, f"/{name}"))


class OtherRootHost(LinuxFacts):
    """A Linux system below a folder. Its variables are those of its files; no process of it is known."""

    def __init__(self, folder: Path) -> None:
        self._root = OtherRoot(folder.resolve())
        self._inside = _Inside(self._root)

    @property
    def root(self) -> Path:
        """The folder that stands for "/"."""
        return Path(self._root)

    @property
    def sysroot(self) -> OtherRoot:
        """The same as readers expect it: links inside lead to places inside."""
        return self._root

    def machine(self) -> Machine:
        """Describe the machine from its files. Never raises; what only a running system shows stays unknown."""
        return Machine(
            system="linux",
            release=os_release(self._inside),
            architecture=self._architecture(),
            libc=self._libc(),
            instructions=processor_instructions(self._inside),
            wsl=is_wsl(self._inside),
            tegra=tegra_of(self._inside),
            container=container_of(self._inside, {}),
            home=self._home(),
            other_root=path_text(self._root),
        )

    def _architecture(self) -> str:
        seen = (read_image.read_image(path, root=self._root).architecture for path in PROGRAMS)
        return next((word for word in seen if word), "x86_64")

    def _libc(self) -> str:
        for folder in LIBC_FOLDERS:
            data = read_start(self._inside / f"{folder}/libc.so.6", MAX_LIBC_BYTES)
            if said := _GLIBC.search(data or b""):
                return said[1].decode("ascii")
        return ""

    def _home(self) -> str:
        """The home folder of the system's only user; root's if there is none or more than one."""
        try:
            homes = [f for f in (self._inside / "home").iterdir() if (self._inside / f"home/{f.name}").is_dir()]
        except OSError:
            homes = []
        return path_text(f"/home/{homes[0].name}") if len(homes) == 1 else "/root"

    def variables(self) -> tuple[Variable, ...]:
        """The variables that its files set for every session (pam_env, systemd)."""
        return session_variables(self._inside, self._home())

    def fresh_environment(self) -> dict[str, str]:
        """The variables that its files set for every session, added to those of a log-in."""
        given = {v.name: v.value for v in self.variables() if "$" not in v.value}
        return {"PATH": DEFAULT_PATH, "HOME": self._home()} | given

    def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:  # noqa: ARG002 - Host's form
        """None: that would run its shell."""
        return None

    def pci_devices(self) -> tuple[PciDevice, ...] | None:
        """Controllers from its /sys/bus/pci, where that is mounted, too; else None."""
        return pci_devices(self._inside) or None

    def run(self, _argv: Sequence[str], **_options: Unpack[RunOptions]) -> CompletedProcess:
        """Run nothing: its programs are another system's."""
        return CompletedProcess(
            status=None, ended=fact_text("was not started: only files of this system are read"), started=False
        )


def is_linux_root(folder: Path) -> bool:
    """Whether a folder looks like the root of a Linux system."""
    try:
        return (folder / "etc").is_dir() and (folder / "usr").is_dir()
    except OSError:
        return False
