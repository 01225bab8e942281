"""The one seam to the operating system: variables, processes, volumes, elevation. Files are real files.

``Host`` is a Protocol that linux/host.py and windows/host.py implement; tests have a double. Roots of the file system are
parameters, so that each can be tested on a temporary folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, Required, TypedDict, Unpack

from core.common.progress import Progress
from core.model.facts import Frozen, Machine, PciDevice, Signature, System, Variable

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
    """Files that it had mapped whenever it waited for that to be looked at, as the system reported them."""


class Account(Frozen, frozen=True, kw_only=True):
    """An account of Linux whose rights a program gets instead of an administrator's."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    name: str = ""
    home: str = ""


class RunOptions(TypedDict, total=False):
    """How ``Host.run`` runs a program; only the time-out must be given."""

    timeout: Required[float]
    """Seconds."""
    env: Mapping[str, str] | None
    """Its environment; None for the one that a newly started program gets."""
    input: bytes
    """What it reads from its standard input."""
    watch: Progress | None
    """Hears what it prints; a cancelled one kills the program."""
    account: Account | None
    """Whose rights it gets, for an administrator alone; None for one's own."""
    kind: ProgramKind
    """"answering": it has its own pipe for its answer, ``out``, as ``core.host.answer_pipe`` says, and what it prints
    is in ``err``; "interpreter": on Linux it gets no new privileges, and nothing that it starts outlives it; "tool": so, and
    the number of its processes is limited."""


class Host(Protocol):
    """What the rest of core may ask of the operating system."""

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
        """The environment that a newly started program gets; a frozen application's own changes are undone.

        Windows: registry values, machine before user. Linux: the environment that Convalesce was started with,
        since that is what every program started from the same place gets.
        """
        ...

    def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:
        """The environment that a program gets from a new log-in; None where it could not be learnt.

        Windows: the registry's values again. Linux: what the person's login shell hands on within ``timeout`` seconds.
        Slow: it runs the shell's start-up files, so a scan leaves it out.
        """
        ...

    def pci_devices(self) -> tuple[PciDevice, ...] | None:
        """Display and 3D controllers; None when the bus could not be listed."""
        ...

    def registered_pythons(self) -> tuple[str, ...]:
        """Folders of the Pythons that installers registered (PEP 514); empty on Linux, which has no such list."""
        ...

    def signature(self, path: str) -> Signature:
        """What is known of a Windows library's signature; empty where the system has no such thing. Reads all of it."""
        ...

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> CompletedProcess:
        """Run a program to its end or its time-out (seconds), with all its descendants killed at the time-out.

        Its current folder is a neutral one. Never raises for a program that is not there or fails:
        ``CompletedProcess.ended`` says so. Output beyond 4 MiB a stream is dropped; invalid UTF-8 is replaced.
        """
        ...


def planned_files(host: Host) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return what a Host tells that shows a machine as it would be: texts of small files that are not there yet, and what is gone.

    Both by full path, and empty for any other Host.
    """
    # no Protocol that is checked at run time: the first check loads the module inspect, a hundredth of a scan
    return getattr(host, "planned", {}), getattr(host, "gone", frozenset())
