"""A Host that starts programs with a different environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

import msgspec

from core.host.interface import CompletedProcess, Host, RunOptions, planned_files
from core.model.facts import Machine, PciDevice, RegisteredStart, Signature, System, Variable


class HostWithEnvironment(msgspec.Struct, frozen=True):
    """The real host, except that newly started programs get another environment."""

    host: Host
    env: Mapping[str, str] = {}
    pythons: tuple[str, ...] = ()
    """Python environments to look at although this environment may not lead to them."""

    @property
    def system(self) -> System:
        """The real one's."""
        return self.host.system

    @property
    def root(self) -> Path:
        """The real one's."""
        return self.host.root

    @property
    def planned(self) -> Mapping[str, str]:
        """The real one's, where it shows a machine as it would be: every way of starting is seen on that machine."""
        return planned_files(self.host)[0]

    @property
    def gone(self) -> frozenset[str]:
        """The real one's, as above."""
        return planned_files(self.host)[1]

    def machine(self) -> Machine:
        """The real one's."""
        return self.host.machine()

    def pci_devices(self) -> tuple[PciDevice, ...] | None:
        """The real one's."""
        return self.host.pci_devices()

    def registered_pythons(self) -> tuple[str, ...]:
        """The real one's."""
        return self.host.registered_pythons()

    def registered_starts(self) -> tuple[RegisteredStart, ...]:
        """The real one's."""
        return self.host.registered_starts()

    def signature(self, path: str) -> Signature:
        """The real one's."""
        return self.host.signature(path)

    def fresh_environment(self) -> dict[str, str]:
        """The given one."""
        return dict(self.env)

    def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:
        """The real one's."""
        return self.host.login_environment(timeout)

    def variables(self) -> tuple[Variable, ...]:
        """Those of the given environment, and the kept ones."""
        ours = (Variable(name=n, value=v, source="environment") for n, v in self.fresh_environment().items())
        return (*ours, *(v for v in self.host.variables() if v.scope != "process"))

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> CompletedProcess:
        """The real one's, in the environment as it would be."""
        if options.get("env") is None:
            options["env"] = self.fresh_environment()
        return self.host.run(argv, **options)
