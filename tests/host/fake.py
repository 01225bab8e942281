"""A Host that is all data: variables, devices and scripted programs in memory, real files under a folder."""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import msgspec

from core.host import child, process
from core.host.exit_status import describe_exit
from core.host.interface import CompletedProcess, RunOptions
from core.model.facts import Machine, PciDevice, RegisteredStart, Signature, System, Variable


def said(*events: object, output: str = "", status: int = 0, system: System = "linux") -> CompletedProcess:
    """Return what a child process leaves behind that emitted ``events`` and ended with ``status``."""
    lines = [b"\n+" + msgspec.json.encode(event) + b"\n" for event in events] + [b"\n.\n"] * (status == 0)
    return CompletedProcess(
        status=status, out=b"".join(lines).decode(), err=output, ended=describe_exit(status, system)
    )


def _signed(answer: CompletedProcess, token: str) -> CompletedProcess:
    """Return a scripted answer with the token that the order asks for."""
    lines = [token + line if line else line for line in answer.out.split("\n")]
    return msgspec.structs.replace(answer, out="\n".join(lines))


@dataclass(frozen=True)
class FakeHost:
    """A machine made up for a test. What is not given is empty; a program that is not scripted is not installed."""

    root: Path
    facts: Machine = field(default_factory=lambda: Machine(system="linux"))
    environment: Mapping[str, str] = field(default_factory=dict)
    """What ``fresh_environment`` gives."""
    login: Mapping[str, str] | None = None
    """What a new log-in gives; the same for None."""
    declared: tuple[Variable, ...] = ()
    """Variables of other scopes than the process."""
    pci: tuple[PciDevice, ...] | None = ()
    registered: tuple[str, ...] = ()
    """Folders of Pythons that Windows' registry lists."""
    starts: tuple[RegisteredStart, ...] = ()
    """What Windows' registry starts."""
    runs: Mapping[tuple[str, ...], CompletedProcess] = field(default_factory=dict)
    """What programs answer, by their command line."""
    children: Mapping[str, CompletedProcess] = field(default_factory=dict)
    """What our own functions answer in a child ("module:function" and ``said(...)``); others really run in one."""

    @property
    def system(self) -> System:
        """That of the machine."""
        return self.facts.system

    def machine(self) -> Machine:
        """Return the given facts."""
        return self.facts

    def variables(self) -> tuple[Variable, ...]:
        """Return the given environment and the declared variables."""
        ours = (Variable(name=n, value=v, source="environment") for n, v in self.environment.items())
        return (*ours, *self.declared)

    def fresh_environment(self) -> dict[str, str]:
        """Return a copy of the given environment."""
        return dict(self.environment)

    def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:
        """Return a copy of the given one, else of the environment."""
        return dict(self.environment if self.login is None else self.login)

    def pci_devices(self) -> tuple[PciDevice, ...] | None:
        """Return the given devices."""
        return self.pci

    def registered_pythons(self) -> tuple[str, ...]:
        """Return the given folders."""
        return self.registered

    def registered_starts(self) -> tuple[RegisteredStart, ...]:
        """Return the given ones."""
        return self.starts

    def signature(self, path: str) -> Signature:
        """Compare a Windows library with its own signed hash; nothing is known of a library for Linux."""
        return "undecided" if self.system == "windows" else ""

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> CompletedProcess:
        """Return the scripted answer; a child of ours without one really runs."""
        watch = options.get("watch")
        if watch is not None and watch.cancelled:
            return CompletedProcess(status=None, ended="was not started: the work was cancelled")
        if tuple(argv) in self.runs:
            return self.runs[tuple(argv)]
        if list(argv) == child.child_command():
            order = options.get("input", b"")
            work = str(marshal.loads(order)[0])  # an order of core.host.child
            if work in self.children:
                return _signed(self.children[work], str(marshal.loads(order)[3]))
            if options.get("env") is None:
                options["env"] = self.environment
            return process.run_program(argv, **options)
        return CompletedProcess(status=None, ended="could not be started: No such file or directory", started=False)
