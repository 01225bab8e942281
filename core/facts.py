"""Everything that was seen on a machine: the Snapshot and its sections, frozen and serialisable.

This module imports nothing of ours. Three rules hold for every field:

* ``None`` means "not looked at, or could not be decided"; an empty tuple or text means "looked, nothing there".
* a fact that came from somewhere carries ``source``: a registry key, a file, "NVML", a variable.
* paths are plain text in the machine's own form (``text()`` makes them printable); versions are dotted text.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Literal

import msgspec

SCHEMA = 1
"""Version of the report's JSON form. Fields may be added within a version; none is renamed or removed."""

System = Literal["linux", "windows"]


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all sections: immutable, compared by value, read from and written to JSON by msgspec."""


def text(path: str | bytes | os.PathLike[str]) -> str:
    r"""Return a printable form of a path; bytes that are not UTF-8 appear as ``\xNN``."""
    raw = path if isinstance(path, bytes) else os.fsencode(os.fspath(path))
    return raw.decode("utf-8", "backslashreplace")


# --- the machine -----------------------------------------------------------------------------------------


class Program(Fact, frozen=True, kw_only=True):
    """An installed program as Windows' list of apps shows it. The list is what installers wrote, not what is there."""

    name: str
    version: str = ""
    publisher: str = ""


class Machine(Fact, frozen=True, kw_only=True):
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
    elevated: bool | None = None
    user: str = ""
    host_name: str = ""
    home: str = ""
    programs: tuple[Program, ...] = ()
    """On Windows: NVIDIA's installed programs and Microsoft's C++ runtimes, as its list of apps shows them."""
    long_paths: bool | None = None
    """On Windows: whether paths of more than 260 characters may be used without a prefix."""


class ProbeError(Fact, frozen=True, kw_only=True):
    """A probe that crashed, was refused or ran out of time. This is data, too."""

    probe: str
    kind: Literal["crash", "time-out", "cancelled", "refused"]
    message: str


# --- driver ----------------------------------------------------------------------------------------------


class Gpu(Fact, frozen=True, kw_only=True):
    """One NVIDIA GPU as NVML reports it (or cuInit's child, where NVML is silent). Memory in bytes."""

    index: int
    name: str
    compute_capability: str | None = None
    """Major.minor, such as "8.6"."""
    uuid: str = ""
    memory_total: int | None = None
    memory_free: int | None = None
    mig: bool | None = None
    pci: str = ""
    source: str = "NVML"


class PciDevice(Fact, frozen=True, kw_only=True):
    """A display or 3D controller found on the PCI bus (Linux: /sys/bus/pci; Windows: the registry)."""

    address: str
    vendor_id: str
    """Four hexadecimal digits; NVIDIA is 10de."""
    device_id: str = ""
    name: str = ""
    bound_driver: str | None = None
    """Kernel driver that holds it: nvidia, nouveau, vfio-pci; empty text when none does."""
    source: str = ""


class DeviceNode(Fact, frozen=True, kw_only=True):
    """A /dev/nvidia* node, and whether this user could open it."""

    path: str
    mode: str = ""
    owner: str = ""
    group: str = ""
    opened: bool | None = None
    problem: str = ""


class DriverLibrary(Fact, frozen=True, kw_only=True):
    """One file of the user-mode driver (libcuda.so.1, libnvidia-ml.so.1, nvcuda.dll, nvml.dll)."""

    path: str
    real_path: str = ""
    version: str | None = None
    """Version in the file's name or resource: "580.65.06"."""
    stub: bool | None = None
    """True for the toolkit's link-time stub, which can never run."""
    size: int | None = None
    problem: str = ""
    source: str = ""


class CudaInit(Fact, frozen=True, kw_only=True):
    """What the CUDA driver API answered in a child process, in the consumer's environment."""

    status: int | None = None
    """Result of cuInit: 0, or a CUresult number; None when the child died or the library did not load."""
    status_name: str = ""
    driver_cuda: str | None = None
    """cuDriverGetVersion as major.minor, "13.0": the newest CUDA that this driver runs."""
    device_count: int | None = None
    library: str = ""
    """Path of the libcuda or nvcuda file that was really mapped."""
    problem: str = ""


class Nvml(Fact, frozen=True, kw_only=True):
    """What NVML answered in a child process."""

    status: int | None = None
    status_name: str = ""
    driver_version: str | None = None
    driver_cuda: str | None = None
    device_count: int | None = None
    library: str = ""
    problem: str = ""


class ComputeCache(Fact, frozen=True, kw_only=True):
    """The driver's cache of compiled kernels (CUDA_CACHE_PATH, else ~/.nv/ComputeCache)."""

    path: str
    exists: bool
    owner: str = ""
    writable: bool | None = None
    index_readable: bool | None = None
    """Whether the cache's index file could be opened and is not empty where it exists; None when there is none."""
    problem: str = ""
    aside: str = ""
    """The folder that this user can put aside for a new one: the cache, or a folder of NVIDIA's caches alone that holds it."""
    source: str = ""


class Driver(Fact, frozen=True, kw_only=True):
    """GPUs, kernel module, user-mode driver and what stands between them."""

    pci: tuple[PciDevice, ...] | None = None
    gpus: tuple[Gpu, ...] | None = None
    nvml: Nvml | None = None
    cuda: CudaInit | None = None
    cuda_unhidden: CudaInit | None = None
    """The same call with CUDA_VISIBLE_DEVICES and its like taken away; None when none was set."""
    cuda_clean: CudaInit | None = None
    """The same call without LD_LIBRARY_PATH; None when it was not set (Linux)."""
    module_version: str | None = None
    """Version of the loaded kernel module; empty text when none is loaded."""
    modules: tuple[str, ...] | None = None
    """Loaded kernel modules that matter: nvidia, nvidia_uvm, nouveau, ..."""
    libraries: tuple[DriverLibrary, ...] | None = None
    nodes: tuple[DeviceNode, ...] | None = None
    secure_boot: bool | None = None
    kernel_log: tuple[str, ...] | None = None
    """Lines of the kernel log that name NVRM, nvidia, a rejected key or an Xid; None when it could not be read."""
    booted: float | None = None
    """Seconds since the epoch."""
    resumed: float | None = None
    """Time of the last resume from suspend, seconds since the epoch; 0.0 = looked, never since boot."""
    compute_cache: ComputeCache | None = None
    windows_driver_model: str = ""
    """WDDM, TCC or MCDM (Windows)."""


# --- libraries as files ----------------------------------------------------------------------------------

FileState = Literal["good", "missing", "dangling", "empty", "truncated", "damaged", "unreadable", "not a library"]
Signature = Literal["", "valid", "intact", "altered", "not signed", "not trusted", "undecided"]
"""What is known of a file's signature. "valid": Windows knows its signer; "intact": only the signed hash was compared."""
RecordState = Literal["matches", "size differs", "hash differs", "not listed", "unchecked"]
Origin = Literal["wheel", "conda", "distribution", "installer", "folder", "framework", "system", "driver"]


class LibraryFile(Fact, frozen=True, kw_only=True):
    """One shared library on disk, as far as its headers tell."""

    path: str
    name: str
    """File name."""
    real_path: str = ""
    """Where the links lead; empty when it is no link."""
    state: FileState = "good"
    problem: str = ""
    size: int | None = None
    architecture: str = ""
    """x86_64, aarch64, x86, ...; empty when the headers did not tell."""
    version: str | None = None
    """True version: from exported version data, a call, or a versioned real file name; never from a header or a PE resource that is known to lie."""
    version_source: str = ""
    cuda_major: int | None = None
    needed: tuple[str, ...] = ()
    """Names that the loader must find: DT_NEEDED, PE imports and delay imports."""
    mentions: tuple[str, ...] = ()
    """Library names in its data that it may open by itself at run time."""
    runpath: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    soname: str = ""
    sass: tuple[int, ...] | None = None
    """GPU machine code inside, as 10 x major + minor (86 for compute capability 8.6); None = not looked."""
    ptx: tuple[int, ...] | None = None
    record: RecordState = "unchecked"
    """Verdict of the wheel's RECORD about this file."""
    sha256: str = ""
    """Only with --thorough."""
    signature: Signature = ""
    """Only with --thorough, for a Windows library that no RECORD knows. Many of NVIDIA's own are not signed."""


class Toolkit(Fact, frozen=True, kw_only=True):
    """One CUDA toolkit or set of CUDA runtime libraries."""

    root: str
    origin: Origin
    version: str | None = None
    """Major.minor[.patch]."""
    version_source: str = ""
    folder: str = ""
    """The folder that holds the runtime libraries."""
    owner: str = ""
    """Wheel, conda or distribution package that owns it, and which environment."""
    nvcc: str = ""
    nvcc_version: str | None = None
    libraries: tuple[LibraryFile, ...] = ()
    named_by: tuple[str, ...] = ()
    """Variables or links that lead here: CUDA_PATH, CUDA_HOME, /usr/local/cuda."""
    source: str = ""


class CudnnCopy(Fact, frozen=True, kw_only=True):
    """One cuDNN on disk: all its files of one major version in one folder."""

    folder: str
    origin: Origin
    major: int
    version: str | None = None
    """True version of the set: that of its graph (9), ops_infer (8) or only (7) library."""
    version_source: str = ""
    owner: str = ""
    """Wheel, conda or distribution package, framework or program that it belongs to, with its version."""
    environment: str = ""
    """Prefix of the Python environment that it lies in; empty for none."""
    cuda_major: int | None = None
    cuda_major_source: str = ""
    files: tuple[LibraryFile, ...] = ()
    missing: tuple[str, ...] = ()
    """Files that its own binaries (or its RECORD) name and that are not in the folder."""
    missing_source: str = ""
    sass: tuple[int, ...] | None = None
    """GPU machine code that every GPU-carrying library of the set has."""
    ptx: tuple[int, ...] | None = None
    header_version: str | None = None
    """What cudnn_version.h beside it says: what a compiler would build against."""
    header: str = ""
    links: tuple[LibraryFile, ...] = ()
    """Import libraries and unversioned links (libcudnn.so, cudnn.lib) beside it."""
    cached_elsewhere: str = ""
    """Path under which ld.so.cache lists this name although the file there is gone or another; empty if in order."""
    source: str = ""
    """How it was found."""


# --- environment -----------------------------------------------------------------------------------------

Scope = Literal["process", "user", "machine", "login"]
"""process: what we were started with, with a frozen application's own changes taken back; user, machine: the Windows
registry (HKCU, HKLM) or files such as /etc/environment; login: what a new login shell gets."""

Mark = Literal[
    "missing",
    "not a folder",
    "unreadable",
    "duplicate",
    "quoted",
    "relative",
    "unexpanded",
    "trailing slash",
    "brackets",
    "non-ascii",
    "writable by others",
    "empty",
]


class Variable(Fact, frozen=True, kw_only=True):
    """One environment variable in one scope; ``value`` is the raw, unexpanded text."""

    name: str
    value: str
    scope: Scope = "process"
    kind: str = ""
    """Registry kind (REG_SZ, REG_EXPAND_SZ), empty elsewhere."""
    source: str = ""


class PathEntry(Fact, frozen=True, kw_only=True):
    """One entry of a search-path variable, in order."""

    variable: str
    """PATH, LD_LIBRARY_PATH, ..."""
    index: int
    text: str
    expanded: str = ""
    """With variables expanded; what the loader sees."""
    scope: Scope = "process"
    exists: bool = True
    marks: tuple[Mark, ...] = ()
    duplicate_of: int | None = None


class Renewal(Fact, frozen=True, kw_only=True):
    """A variable that this session has from before a change of Convalesce's, and that new programs get otherwise."""

    name: str
    scope: Literal["user", "machine", "environment"] = "user"
    """Who gets it: from the next log-in on, or while an environment is active."""
    at: str = ""
    """The file that keeps it, or the environment's prefix."""
    old: str | None = None
    """What this session has; None for nothing."""
    new: str | None = None
    """What new programs get, by which the machine was judged."""


class Environment(Fact, frozen=True, kw_only=True):
    """Relevant variables of every scope, and the search-path entries of the consumer's environment."""

    variables: tuple[Variable, ...] = ()
    entries: tuple[PathEntry, ...] = ()
    problems: tuple[str, ...] = ()
    """Sentences about limits: a PATH longer than its limit, a registry value of a wrong kind."""
    renewed: tuple[Renewal, ...] = ()
    """Variables that this session has from before a change; all sections were looked at with the new values."""


# --- frameworks ------------------------------------------------------------------------------------------


class Distribution(Fact, frozen=True, kw_only=True):
    """An installed Python distribution that matters here."""

    name: str
    version: str
    location: str = ""
    requires: tuple[str, ...] = ()
    """Requirements on nvidia-* distributions, as written."""
    pins: tuple[str, ...] = ()
    """Requirements on other distributions that matter here, as written: torchvision's on torch."""


class PythonEnvironment(Fact, frozen=True, kw_only=True):
    """One Python environment, read from outside: nothing of it was run."""

    prefix: str
    executable: str = ""
    version: str = ""
    kind: Literal["venv", "conda", "system", "embedded", "store", "other"] = "other"
    architecture: str = ""
    site_packages: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    installer: Literal["pip", "uv", "none", ""] = ""
    """What installs packages here: pip if it lies there; else uv, which made it; none of the two; empty: not looked at."""
    managed: bool = False
    """Marked as the distribution's own (PEP 668): pip refuses to install into it."""
    dll_folders: tuple[str, ...] = ()
    """Windows: folders that its own .pth files give to os.add_dll_directory at every start."""
    found_by: str = ""
    problem: str = ""


class FrameworkBuild(Fact, frozen=True, kw_only=True):
    """How one framework was built, read from its files: nothing of it was run."""

    prefix: str
    """Of the environment."""
    distribution: str
    version: str
    cuda: str | None = None
    """CUDA version that it was built for, as far as told ("12.8", "12"); empty for a build without CUDA; None: not told."""
    cuda_source: str = ""
    cudnn: str | None = None
    """cuDNN version that it was compiled against, as far as told."""
    other: str = ""
    """Another kind of accelerator that it was built for: "ROCm 6.2"."""
    really: str = ""
    """Name and version that the files themselves give, where another distribution's lie there."""
    bundled: tuple[str, ...] = ()
    """CUDA and cuDNN libraries that it brings itself, by file name."""
    binary: str = ""
    """The library that holds its GPU code."""
    sass: tuple[int, ...] | None = None
    """Machine code in that library; None: not looked at, or there is no such library."""
    ptx: tuple[int, ...] | None = None


class Frameworks(Fact, frozen=True, kw_only=True):
    """The frameworks of every environment, and the environments that lie further away than those in ``pythons``."""

    builds: tuple[FrameworkBuild, ...] = ()
    others: tuple[PythonEnvironment, ...] = ()
    """Environments that nothing active names: listed and read, but nothing was loaded for them."""
    problems: tuple[str, ...] = ()
    """Sentences about limits: a search that ran out of time."""


class DamagedFile(Fact, frozen=True, kw_only=True):
    """A library that is not as the distribution that installed it recorded it. Sizes in bytes."""

    path: str
    distribution: str
    version: str
    state: Literal["missing", "size differs", "hash differs"]
    header: str = ""
    """What its own header says where the size differs: "truncated", "empty"; "good" for a library that is whole in itself."""
    size: int | None = None
    recorded: int | None = None
    needed_by: str = ""
    """Of one that is missing: a library of the same environment that is linked against it, and does not load without."""


class PackageRecords(Fact, frozen=True, kw_only=True):
    """The frameworks' and NVIDIA's libraries of one environment, compared with the RECORDs of their distributions."""

    prefix: str
    packages: int = 0
    files: int = 0
    """Libraries that were compared by size."""
    hashed: int = 0
    """Of these, by their content: only with --thorough."""
    damaged: tuple[DamagedFile, ...] = ()


class FrameworkTrial(Fact, frozen=True, kw_only=True):
    """What happened when a framework was imported and used in its own interpreter, in a new process."""

    prefix: str
    framework: str
    """Name of the distribution."""
    version: str = ""
    reached: Literal["nothing", "import", "devices", "convolution"] = "nothing"
    """The last stage that was passed."""
    gpu: bool | None = None
    """Whether the convolution ran on a GPU; None when it did not come to it."""
    devices: int | None = None
    device: str = ""
    cuda: str = ""
    """CUDA version in the framework's own words."""
    cudnn: str = ""
    cudnn_compiled: str = ""
    right: bool | None = None
    """Whether the convolution's results agree with those of the processor."""
    backward: bool = False
    """Whether its gradients were among them; frameworks that only run models have none."""
    mapped: tuple[Mapped, ...] = ()
    """CUDA and cuDNN files that the process really mapped, each with its owner."""
    problem: str = ""
    """The exception's text, or the last lines that were printed."""
    printed: str = ""
    """The last lines about the GPU and its libraries that it printed, whether it failed or not."""
    ended: str = ""
    """How the process ended, in one sentence; empty when it ended well."""
    seconds: float = 0.0
    clean: FrameworkTrial | None = None
    """The same without LD_LIBRARY_PATH, where that was set and something went wrong or came from there."""


# --- loading ---------------------------------------------------------------------------------------------


class How(StrEnum):
    """How a loader comes to a candidate, in the loader's own terms."""

    DIRECT = "direct path"
    RPATH = "RPATH"
    LD_LIBRARY_PATH = "LD_LIBRARY_PATH"
    RUNPATH = "RUNPATH"
    LD_CACHE = "ld.so.cache"
    DEFAULT = "default folder"
    LOADED = "already loaded"
    KNOWN_DLL = "KnownDLLs"
    API_SET = "API set"
    DLL_FOLDER = "folder of the loading DLL"
    DLL_DIRECTORY = "add_dll_directory"
    SET_DLL_DIRECTORY = "SetDllDirectory"
    APPLICATION = "application folder"
    SYSTEM = "System32"
    SYSTEM16 = "System"
    WINDOWS = "Windows folder"
    CURRENT = "current folder"
    PATH = "PATH"


Outcome = Literal["found", "not there", "wrong architecture", "unreadable", "damaged", "passed over"]


class Attempt(Fact, frozen=True, kw_only=True):
    """One place where the loader looks for a name. ``found`` marks every file that would serve, not only the first."""

    path: str
    how: How
    outcome: Outcome
    detail: str = ""
    via: str = ""
    """The variable entry, configuration file or RUNPATH text that led here."""
    stops: bool = False
    """The loader gives up here with an error, and looks no further: a damaged file, and on Windows also one that is of
    another architecture or may not be read."""


class Resolution(Fact, frozen=True, kw_only=True):
    """A wanted library name and every candidate in search order."""

    name: str
    wanted_by: str = ""
    """File that wants it; empty for the consumer itself."""
    attempts: tuple[Attempt, ...] = ()

    @property
    def winner(self) -> Attempt | None:
        """The candidate that the loader takes: the first that is found, or the first that stops the search.

        A damaged file that the loader stops at is a winner too (on Windows one of another architecture as well); its
        outcome says so.
        """
        return next((a for a in self.attempts if a.stops or a.outcome in ("found", "damaged")), None)

    @property
    def found(self) -> tuple[Attempt, ...]:
        """All candidates that would serve, in search order."""
        return tuple(a for a in self.attempts if a.outcome == "found")


class Consumer(Fact, frozen=True, kw_only=True):
    """A program that will load libraries under its own loader policy."""

    id: str
    """"plain", or "python:" and the environment's prefix."""
    kind: Literal["plain", "python", "conda", "store"]
    label: str
    """In plain words: "any program", "the Python environment C:\\ml\\venv"."""
    prefix: str = ""
    framework: str = ""
    """The distribution whose wish this is (torch 2.11.0), empty for none."""


class Call(Fact, frozen=True, kw_only=True):
    """One call of the roll call and its answer."""

    function: str
    library: str = ""
    result: int | None = None
    """The returned number; None when the function could not be called."""
    meaning: str = ""
    """Name of the status, or the loader's error."""


class Mapped(Fact, frozen=True, kw_only=True):
    """A CUDA or cuDNN file that the process really mapped."""

    path: str
    name: str
    origin: str = ""
    """Who owns it: "this environment's wheel", "LD_LIBRARY_PATH", "system"."""


class RollCall(Fact, frozen=True, kw_only=True):
    """What really happened when a child loaded a main library and called every sub-library."""

    library: str
    """What was asked for: a bare name or a full path."""
    loaded: str = ""
    """The file that answered."""
    version: str | None = None
    """cudnnGetVersion as dotted text."""
    calls: tuple[Call, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    output: str = ""
    """What the libraries printed."""
    ended: str = ""
    """How the child ended, in one sentence; empty when it ended well."""


class Load(Fact, frozen=True, kw_only=True):
    """One consumer's search and roll call for one cuDNN major."""

    consumer: Consumer
    major: int
    resolutions: tuple[Resolution, ...] = ()
    roll_call: RollCall | None = None
    clean_roll_call: RollCall | None = None
    """The same without LD_LIBRARY_PATH (or PATH additions), where one was set and something differed: the proof of an override."""
    wanted_version: str | None = None
    """The cuDNN version that the consumer was built or pinned against, where known."""
    wanted_source: str = ""


# --- benchmark -------------------------------------------------------------------------------------------

Layer = Literal["driver", "device", "toolkit", "cudnn"]
Direction = Literal["forward", "data gradient", "weight gradient"]
NumberType = Literal["fp32", "tf32", "fp16", "bf16", "int8"]
"""fp32: without tensor cores. tf32: the same data, multiplied in tensor cores with 10 bits of mantissa."""
Layout = Literal["NCHW", "NHWC"]


class Rung(Fact, frozen=True, kw_only=True):
    """One rung of the ladder from the driver to a convolution: the call that was made and its answer."""

    name: str
    """What it shows: "memory copies both ways"."""
    layer: Layer
    state: Literal["passed", "failed", "absent", "not reached"]
    """absent: the library that this rung needs was not found, and nothing else needs it at once."""
    call: str = ""
    """The call that failed, or the last one: cuMemAlloc_v2."""
    status: int | None = None
    status_name: str = ""
    meaning: str = ""
    """What the status means, or what was seen instead."""
    library: str = ""
    seconds: float = 0.0


class Check(Fact, frozen=True, kw_only=True):
    """One look at whether the results are right."""

    kind: Literal["exact", "two algorithms", "samples", "repeated"]
    type: NumberType
    direction: Direction
    layout: Layout
    shape: str
    algorithm: str = ""
    right: bool | None = None
    """None: this cuDNN or this GPU does not offer it, or it could not be tried; ``detail`` says why."""
    worst: float | None = None
    """Largest difference."""
    bound: float | None = None
    """Largest difference that rounding allows."""
    detail: str = ""


class Timing(Fact, frozen=True, kw_only=True):
    """The speed of one convolution."""

    shape: str
    label: str = ""
    """The shape in words: "3x3, 64 channels"."""
    type: NumberType
    direction: Direction = "forward"
    layout: Layout = "NHWC"
    by: str = "cuDNN"
    """"cuDNN", or the framework and its version."""
    milliseconds: float | None = None
    """Median of one launch; None when nothing could be measured."""
    spread: float | None = None
    """Half the distance between the quartiles over the median."""
    teraflops: float | None = None
    """Arithmetic of the direct method over the time; a Winograd algorithm may beat the card's limit."""
    gigabytes_per_second: float | None = None
    """Tensors read and written once, over the time."""
    algorithm: str = ""
    tensor_cores: bool | None = None
    algorithms: int = 0
    """How many were tried."""
    problem: str = ""


class RateLimit(Fact, frozen=True, kw_only=True):
    """What the card could do at most for one type of number, and what such cards reach in convolutions."""

    type: NumberType
    teraflops: float
    typical: float | None = None
    """Fraction of the limit that a large convolution reaches on a card of this kind; None: nobody measured it."""
    source: str = ""


class GpuProcess(Fact, frozen=True, kw_only=True):
    """A process on the GPU that is not ours. Memory in bytes."""

    pid: int
    name: str = ""
    memory: int | None = None


class GpuState(Fact, frozen=True, kw_only=True):
    """What NVML said at one moment. Clocks in MHz, power in watts, degrees Celsius, memory in bytes, load in percent."""

    seconds: float = 0.0
    """Since the first look."""
    clock: int | None = None
    memory_clock: int | None = None
    power: float | None = None
    temperature: int | None = None
    load: int | None = None
    reasons: int | None = None
    """NVML's bit mask of clock event reasons."""
    memory_used: int | None = None
    memory_free: int | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    processes: tuple[GpuProcess, ...] | None = None


class GpuCard(Fact, frozen=True, kw_only=True):
    """What a card is, for its limits: from NVML and the driver. Clocks in MHz, power in watts, memory in bytes."""

    name: str = ""
    uuid: str = ""
    pci: str = ""
    compute_capability: str | None = None
    multiprocessors: int | None = None
    max_clock: int | None = None
    max_memory_clock: int | None = None
    bus_width: int | None = None
    """Bits of the memory interface."""
    memory_total: int | None = None
    power_limit: float | None = None
    power_limit_default: float | None = None
    pcie_generation_max: int | None = None
    pcie_width_max: int | None = None
    display: bool | None = None
    """A screen is driven by it."""
    driver_model: str = ""
    ecc_uncorrected: int | None = None
    """Uncorrected errors since the driver was loaded."""
    on_battery: bool | None = None


class GpuRun(Fact, frozen=True, kw_only=True):
    """One GPU's benchmark. A run that ended early keeps everything that was learnt before."""

    index: int
    """NVML's index where NVML answers, else the driver's."""
    card: GpuCard | None = None
    consumer: str = ""
    """Whose cuDNN was used, in words; prediction and environment are those of this consumer."""
    library: str = ""
    """The cuDNN main library that was asked for."""
    version: str | None = None
    rungs: tuple[Rung, ...] = ()
    checks: tuple[Check, ...] = ()
    timings: tuple[Timing, ...] = ()
    frameworks: tuple[FrameworkRun, ...] | None = None
    limits: tuple[RateLimit, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    predicted: tuple[str, ...] = ()
    """Files that the scan predicted for this consumer."""
    before: GpuState | None = None
    """Before anything of ours was on the GPU."""
    states: tuple[GpuState, ...] = ()
    during: str = ""
    """What was being done when the process died; empty when it did not."""
    ended: str = ""
    """How it ended, in one sentence; empty when it ended well."""
    xids: tuple[str, ...] = ()
    """Lines about faults of the GPU that the kernel wrote during a run that went wrong."""
    output: str = ""
    seconds: float = 0.0


class FrameworkRun(Fact, frozen=True, kw_only=True):
    """The framework's own convolution in the person's interpreter."""

    framework: str
    """torch 2.11.0."""
    python: str = ""
    gpu: bool | None = None
    """Whether it computed on the GPU."""
    cuda: str = ""
    """The CUDA that it was built for; empty for a build without."""
    predicted: bool = False
    """Whether the run's predicted files are this framework's."""
    right: bool | None = None
    detail: str = ""
    timings: tuple[Timing, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    cudnn: str = ""
    """The version that the framework says it uses."""
    problem: str = ""
    output: str = ""
    """The end of what it printed, where it does not use the GPU that it was built for."""


class Benchmark(Fact, frozen=True, kw_only=True):
    """The benchmark: on demand only, never part of a scan."""

    quick: bool = False
    gpus: tuple[GpuRun, ...] = ()
    problem: str = ""
    """Why nothing was run: no GPU, no driver, no cuDNN. One calm sentence."""
    seconds: float = 0.0


# --- the whole -------------------------------------------------------------------------------------------


class Snapshot(Fact, frozen=True, kw_only=True):
    """Everything that one scan saw. A section is None when its probe was not run or failed (see ``errors``)."""

    machine: Machine
    taken: str = ""
    """ISO 8601 time, UTC."""
    thorough: bool = False
    driver: Driver | None = None
    toolkits: tuple[Toolkit, ...] | None = None
    cudnn: tuple[CudnnCopy, ...] | None = None
    environment: Environment | None = None
    pythons: tuple[PythonEnvironment, ...] | None = None
    frameworks: Frameworks | None = None
    trials: tuple[FrameworkTrial, ...] | None = None
    """None: none was asked for."""
    records: tuple[PackageRecords, ...] | None = None
    loads: tuple[Load, ...] | None = None
    benchmark: Benchmark | None = None
    """None: it was not asked for."""
    errors: tuple[ProbeError, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    """How long each probe took."""
