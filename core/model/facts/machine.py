"""The computer, the operating system, the program itself, and what went wrong while looking."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen, System


class Program(Frozen, frozen=True, kw_only=True):
    """An installed program as Windows' list of apps shows it. The list is what installers wrote, not what is there."""

    name: str
    version: str = ""
    publisher: str = ""


class Machine(Frozen, frozen=True, kw_only=True):
    """The computer and the operating system that the scan ran on."""

    system: System
    release: str = ""
    """The system's own words: "Debian GNU/Linux 12 (bookworm)", "Windows 11 Pro 23H2 (22631)"."""
    architecture: str = "x86_64"
    """Processor family as a loader names it: x86_64, aarch64, x86."""
    kernel: str = ""
    libc: str = ""
    """glibc's version on Linux, empty elsewhere."""
    wsl: bool = False
    container: str | None = None
    """"docker", "podman", "kubernetes", "lxc", ...; None when none was recognised."""
    instructions: tuple[str, ...] | None = None
    """Those of the processor's instruction sets that builds require ("avx", "avx2", "fma", "sse4_1"); None if unknown."""
    commit_limit: int | None = None
    """The commit limit of Windows in bytes: memory and page file."""
    commit_left: int | None = None
    """Bytes of these that were still available at that moment."""
    elevated: bool | None = None
    user: str = ""
    host_name: str = ""
    home: str = ""
    people: tuple[str, ...] = ()
    """Further account names in paths and mounts, recorded so that they can be removed from a report."""
    servers: tuple[str, ...] = ()
    """Servers of mounted network folders, for the same purpose."""
    programs: tuple[Program, ...] = ()
    """On Windows: NVIDIA's installed programs and Microsoft's C++ runtimes, as its list of apps shows them."""
    tegra: str = ""
    """On a Jetson or a similar board: the release of NVIDIA's Linux for it ("L4T 36.4.0"), else the chip ("tegra234"); else empty."""
    other_root: str = ""
    """The root folder of this system, if it is not the running one: then nothing of it was loaded or run."""
    long_paths: bool | None = None
    """On Windows: whether paths of more than 260 characters may be used without a prefix."""


def marker_facts(system: System, architecture: str, version: str = "") -> dict[str, str]:
    """Return what the markers of requirements ask for, in Python's own words, of a CPython; 3.11 where its version is not known."""
    windows = system == "windows"
    own_words = {"x86_64": "AMD64", "aarch64": "ARM64"} if windows else {}
    return {
        "platform_system": "Windows" if windows else "Linux",
        "sys_platform": "win32" if windows else "linux",
        "os_name": "nt" if windows else "posix",
        "platform_machine": own_words.get(architecture, architecture),
        "python_version": ".".join(version.split(".")[:2]) or "3.11",
        "python_full_version": version or "3.11.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }


class Unexamined(Frozen, frozen=True, kw_only=True):
    """A path that did not respond, or a program that did not end: it was skipped, everything else was examined."""

    path: str
    what: Literal["folder", "interpreter", "imports"] = "folder"
    """folder: a place of the file system, with everything below it. interpreter: a program that was started. imports: what the
    frameworks of the environment at ``path`` import, as far as there was no time to follow it."""
    seconds: float = 0.0
    """Seconds that the scan waited for it."""
    wanted_by: tuple[str, ...] = ()
    """What refers to it: "--python", names of variables, the loader's configuration. Empty: nothing relevant."""


class Changeable(Frozen, frozen=True, kw_only=True):
    """The first part of the path to a file that somebody else can change: a folder, a link, or the file itself."""

    path: str
    owner: str = ""
    """"uid:1000" on Linux, a security identifier on Windows."""
    mode: str = ""
    """Linux: permissions in octal ("2775"); an access list shows in ``writers``."""
    writers: tuple[str, ...] = ()
    """Who else can change it: accounts, groups ("gid:100"), "everyone". Empty: it could not be examined."""


class Execution(Frozen, frozen=True, kw_only=True):
    """A file of the machine that was started or loaded, or that was not because other accounts can change it."""

    what: Literal["roll call", "driver", "framework", "interpreter", "nvcc", "search path"]
    """roll call: cuDNN's libraries, loaded and called. driver: NVML and cuInit. framework: its own interpreter.
    interpreter: one that was started to say its sys.path. search path: an entry that an administrator's programs were started without."""
    path: str
    account: str = ""
    """With whose rights; empty: it was not run."""
    consumer: str = ""
    """For whom: ``Consumer.full_id``."""
    changeable: Changeable | None = None


class ProbeError(Frozen, frozen=True, kw_only=True):
    """A probe that crashed, was refused or ran out of time. This is data, too."""

    probe: str
    kind: Literal["crash", "time-out", "cancelled", "refused"]
    message: str
