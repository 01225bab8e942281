"""Linux: variables, machine facts and the PCI bus, read from files under a root folder."""

from __future__ import annotations

import os
import platform
import pwd
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Unpack

from core.host import process
from core.host.interface import CompletedProcess, RunOptions
from core.host.linux.files import (
    SHELLS_OWN,
    container_of,
    is_wsl,
    loader_architecture,
    login_variables,
    os_release,
    pci_devices,
    processor_instructions,
    session_variables,
    tegra_of,
    variables_in,
    without_bundle_variables,
)
from core.host.provenance import environment_for, may_run
from core.model.facts import Machine, PciDevice, RegisteredStart, Signature, System, Variable, path_text

assert sys.platform != "win32"  # for mypy; code that does not need Linux itself is in files.py


class LinuxFacts:
    """What holds on every Linux system."""

    @property
    def system(self) -> System:
        """Always "linux"."""
        return "linux"

    def registered_starts(self) -> tuple[RegisteredStart, ...]:
        """Empty: Linux has no such registry."""
        return ()

    def registered_pythons(self) -> tuple[str, ...]:
        """Empty: Linux has no such registry."""
        return ()

    def signature(self, _path: str) -> Signature:
        """Empty: Linux libraries have no signature."""
        return ""


class LinuxHost(LinuxFacts):
    """The running Linux system. ``root`` and ``environ`` are parameters for tests."""

    def __init__(self, root: Path = Path("/"), environ: Mapping[bytes, bytes] | None = None) -> None:
        self._root = root
        self._environ = dict(os.environb if environ is None else environ)

    @property
    def root(self) -> Path:
        """The folder that takes the place of "/"."""
        return self._root

    def machine(self) -> Machine:
        """Describe the machine from os-release, /proc and the C library. Never raises."""
        kernel = platform.release()
        uid = os.geteuid()
        return Machine(
            system="linux",
            release=os_release(self._root),
            architecture=loader_architecture(platform.machine()),
            kernel=kernel,
            libc=_libc(),
            instructions=processor_instructions(self._root),
            wsl=is_wsl(self._root),
            tegra=tegra_of(self._root),
            container=container_of(self._root, self._environ),
            elevated=uid == 0,
            user=_user(uid),
            host_name=path_text(platform.node()),
            home=self._home(),
        )

    def variables(self) -> tuple[Variable, ...]:
        """Our own environment, then the files that set variables for every session (pam_env, systemd)."""
        ours = (
            Variable(name=path_text(n), value=path_text(v), source="environment")
            for n, v in without_bundle_variables(self._environ).items()
        )
        return (*ours, *self._file_variables())

    def _file_variables(self) -> tuple[Variable, ...]:
        return session_variables(self._root, self._home())

    def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:
        """The environment of programs started by the person's login shell, added to the files for every session
        (pam_env, systemd).

        None if the shell did not answer within ``timeout`` seconds; start-up files that set up conda or nvm take a few.
        """
        ours = self.fresh_environment()
        mark = "convalesce-variables-follow"
        script = f"printf '\\n%s\\n' {mark}; env -0 2>/dev/null || env"
        given = {**login_variables(ours), **{v.name: v.value for v in self._file_variables()}}
        shell = ours.get("SHELL") or _shell()
        home = ours.get("HOME", "")
        # The shell obeys the files that exist.
        verdict = may_run({p: True for p in (shell, home) if p.startswith("/")})
        if not verdict.may:
            return None
        given = environment_for(verdict, given)
        done = self.run([shell, "-l", "-c", script], timeout=timeout, env=given, account=verdict.account)
        _, found, tail = done.out.partition(f"\n{mark}\n")
        if not found or done.timed_out:
            return None
        told = variables_in(tail, "\0" if "\0" in tail else "\n")
        return {n: v for n, v in told.items() if n not in SHELLS_OWN}

    def fresh_environment(self) -> dict[str, str]:
        """The environment that we were started with, without a frozen application's own changes.

        Bytes that are not UTF-8 are kept as surrogates, so that a child gets exactly the same; ``facts.path_text``
        makes a value printable.
        """
        return {os.fsdecode(n): os.fsdecode(v) for n, v in without_bundle_variables(self._environ).items()}

    def pci_devices(self) -> tuple[PciDevice, ...] | None:
        """Display and 3D controllers from /sys/bus/pci; None if it cannot be listed."""
        return pci_devices(self._root)

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> CompletedProcess:
        """Run a program; see ``Host.run``."""
        if options.get("env") is None:
            options["env"] = self.fresh_environment()
        return process.run_program(argv, **options)

    def _home(self) -> str:
        home = self._environ.get(b"HOME", b"")
        if home:
            return path_text(home)
        with suppress(KeyError, OSError):
            return path_text(pwd.getpwuid(os.geteuid()).pw_dir)
        return ""


def _libc() -> str:
    """The version of glibc, from confstr as in getconf(1); empty for another C library."""
    with suppress(OSError, ValueError, AttributeError):
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        return version if name == "glibc" else ""
    return ""


def _shell() -> str:
    """The account's shell; the system's default if no account belongs to this user (containers)."""
    with suppress(KeyError, OSError):
        return path_text(pwd.getpwuid(os.geteuid()).pw_shell) or "/bin/sh"
    return "/bin/sh"


def _user(uid: int) -> str:
    """The user's name; the number if no account belongs to it (containers)."""
    with suppress(KeyError, OSError):
        return path_text(pwd.getpwuid(uid).pw_name)
    return str(uid)
