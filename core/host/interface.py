"""The one interface to the operating system: variables, processes, volumes, elevation. Files are real files.

``Host`` is a Protocol that linux/host.py and windows/host.py implement; tests have a double. The root of the file
system is a parameter, so that each can be tested on a temporary folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, Required, TypedDict, Unpack

from core.common.progress import Progress
from core.model.facts import Frozen, Machine, PciDevice, RegisteredStart, Signature, System, Variable

ProgramKind = Literal["program", "answering", "interpreter", "tool"]


class CompletedProcess(Frozen, frozen=True, kw_only=True):
    """A finished (or killed) process: exit status, both streams, and one sentence on how it ended."""

    status: int | None
    """Exit status; negative for a signal; None when it could not be started."""
    out: str = ""
    err: str = ""
    ended: str = ""
    """Empty when it ended with status 0, else one sentence: "was killed by SIGBUS (a damaged file)"."""
    timed_out: bool = False
    started: bool = True
    """False: the system refused to start it."""
    mapped: tuple[str, ...] = ()
    """Files that it had mapped each time it waited for that to be read, as the system reported them."""


class Account(Frozen, frozen=True, kw_only=True):
    """A Linux account whose rights a program gets in place of an administrator's."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    name: str = ""
    home: str = ""


class RunOptions(TypedDict, total=False):
    """Options of ``Host.run``; only the time-out is required."""

    timeout: Required[float]
    """Seconds."""
    env: Mapping[str, str] | None
    """Its environment; None for the one that a newly started program gets."""
    input: bytes
    """What it reads from its standard input."""
    watch: Progress | None
    """Receives its output; cancelling it kills the program."""
    account: Account | None
    """Whose rights it gets, for an administrator alone; None for one's own."""
    kind: ProgramKind
    """"answering": it has its own pipe for its answer, ``out``, as ``core.host.answer_pipe`` says, and what it prints
    is in ``err``; "interpreter": on Linux it gets no new privileges, and nothing that it starts outlives it; "tool": so, and
    the number of its processes is limited."""


class Host(Protocol):
    """The operations of the operating system that core uses."""

    @property
    def system(self) -> System:
        """Which loader rules, path forms and tools apply."""
        ...

    @property
    def root(self) -> Path:
        """The folder under which absolute paths of the system are looked up: "/" except in tests."""
        ...

    def machine(self) -> Machine:
        """Describe the machine. Never raises."""
        ...

    def variables(self) -> tuple[Variable, ...]:
        """Every variable of every scope, raw and unexpanded, with its origin."""
        ...

    def fresh_environment(self) -> dict[str, str]:
        """The environment that a newly started program gets, without a frozen application's own changes.

        Windows: registry values, machine before user. Linux: the environment that Convalesce was started with, since
        every program started from the same place gets that.
        """
        ...

    def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:
        """The environment that a program gets from a new log-in; None if it could not be determined.

        Windows: the registry's values again. Linux: the environment that the person's login shell passes on within
        ``timeout`` seconds. Slow, because it runs the shell's start-up files, so a scan does not use it.
        """
        ...

    def pci_devices(self) -> tuple[PciDevice, ...] | None:
        """Display and 3D controllers; None when the bus could not be listed."""
        ...

    def registered_pythons(self) -> tuple[str, ...]:
        """Folders of the Pythons that installers registered (PEP 514); empty on Linux, which has no such registry."""
        ...

    def registered_starts(self) -> tuple[RegisteredStart, ...]:
        """Programs that the registry starts: services, and what begins with the session; empty on Linux."""
        ...

    def signature(self, path: str) -> Signature:
        """What is known of a Windows library's signature; empty on other systems. Reads the whole file."""
        ...

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> CompletedProcess:
        """Run a program to its end or its time-out (seconds), at which all its descendants are killed.

        The working directory is a neutral one. A program that is missing or fails never raises:
        ``CompletedProcess.ended`` describes it. Output beyond 4 MiB a stream is dropped; invalid UTF-8 is replaced.
        """
        ...


def planned_files(host: Host) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return the small files that a planned machine has (path -> text), and the paths that it no longer has.

    Both are full paths, and empty for a Host that shows a machine as it is.
    """
    # no Protocol that is checked at run time: the first check loads the module inspect, a hundredth of a scan
    return getattr(host, "planned", {}), getattr(host, "gone", frozenset())
