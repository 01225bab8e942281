"""The sections about Python environments: what is installed, how frameworks were built, what happened when they were tried."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import force_setattr

from core.common.fact_text import fact_text
from core.model.facts.base import Frozen
from core.model.facts.experiments import Experiments
from core.model.facts.loading import WORDS, Consumer, Mapped, full_id
from core.model.facts.machine import Changeable


class Distribution(Frozen, frozen=True, kw_only=True):
    """An installed Python distribution that matters here."""

    name: str
    version: str
    location: str = ""
    requires: tuple[str, ...] = ()
    """Requirements on nvidia-* distributions, as written."""
    pins: tuple[str, ...] = ()
    """Requirements on other distributions that matter here, as written: torchvision's on torch."""


Way = Literal["--python", "suggested", "VIRTUAL_ENV", "CONDA_PREFIX", "python", "python3", "here", "elsewhere"]
"""How an environment was found: named by the person or an assistant, by a variable, by PATH, in the current folder, or elsewhere."""

WAYS: dict[str, Way] = {
    "--python": "--python",
    "VIRTUAL_ENV": "VIRTUAL_ENV",
    "CONDA_PREFIX": "CONDA_PREFIX",
    "python on PATH": "python",
    "python.exe on PATH": "python",
    "python3 on PATH": "python3",
    ".venv in the current folder": "here",
    "venv in the current folder": "here",
}
"""What reports from before ``ways`` say in ``found_by``; every other text is "elsewhere"."""


class PythonEnvironment(Frozen, frozen=True, kw_only=True):
    """One Python environment, read from outside: nothing of it was run."""

    prefix: str
    executable: str = ""
    version: str = ""
    kind: Literal["venv", "conda", "system", "embedded", "store", "other"] = "other"
    architecture: str = ""
    site_packages: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    installer: Literal["pip", "uv", "none", ""] = ""
    """What installs packages here: pip if present, else uv if uv made the environment, else none; empty: not examined."""
    managed: bool = False
    """Marked as the distribution's own (PEP 668): pip refuses to install into it."""
    dll_folders: tuple[str, ...] = ()
    """Windows: folders that its own .pth files give to os.add_dll_directory at every start."""
    found_by: str = ""
    """How it was found, in words; programs read ``ways``."""
    ways: tuple[Way, ...] = ()
    problem: str = ""
    changeable: Changeable | None = None
    """What other accounts can change of it: its folder, its interpreter, its site-packages folders."""

    def __post_init__(self) -> None:
        """Take the ways of an older report from its text."""
        if self.found_by and not self.ways:
            force_setattr(self, "ways", tuple(WAYS.get(text, "elsewhere") for text in self.found_by.split(", ")))

    @property
    def is_wanted(self) -> bool:
        """Whether somebody named it, activated it, or has it on PATH."""
        return bool({"--python", "VIRTUAL_ENV", "CONDA_PREFIX", "python", "python3"} & set(self.ways))

    @property
    def is_named(self) -> bool:
        """Whether a person or an assistant asked for it by name."""
        return bool({"--python", "suggested"} & set(self.ways))

    def consumer(self, framework: str = "") -> Consumer:
        """Return what loads libraries here: the whole environment, or its ``framework`` (name and version)."""
        kind = self.kind if self.kind in ("conda", "store") else "python"
        return Consumer(
            id=full_id(self.prefix),
            kind=kind,
            label=fact_text(WORDS[kind][0], prefix=self.prefix),
            prefix=self.prefix,
            framework=framework,
        )


class FrameworkBuild(Frozen, frozen=True, kw_only=True):
    """How one framework was built, read from its files: nothing of it was run."""

    prefix: str
    """Of the environment."""
    distribution: str
    version: str
    cuda: str | None = None
    """CUDA version that it was built for, as far as known ("12.8", "12"); empty for a build without CUDA; None if unknown."""
    cuda_source: str = ""
    cudnn: str | None = None
    """cuDNN version that it was compiled against, as far as known."""
    other: str = ""
    """Another kind of accelerator that it was built for: "ROCm 6.2"."""
    really: str = ""
    """Name and version that the files themselves give, where another distribution's are there."""
    bundled: tuple[str, ...] = ()
    """CUDA and cuDNN libraries that it brings itself, by file name."""
    binary: str = ""
    """The library that holds its GPU code."""
    sass: tuple[int, ...] | None = None
    """Machine code in that library; None: not examined, or there is no such library."""
    ptx: tuple[int, ...] | None = None
    bound: tuple[str, ...] = ()
    """Entries of sass and ptx that exist with a suffix only: sm_100a (for this capability alone), compute_120f (for 12.x alone)."""
    commit: int | None = None
    """Bytes that Windows must commit when all its libraries are loaded; each writable section is a private copy."""


class Frameworks(Frozen, frozen=True, kw_only=True):
    """The frameworks of every environment, and the environments that matter less than those in ``pythons``."""

    builds: tuple[FrameworkBuild, ...] = ()
    others: tuple[PythonEnvironment, ...] = ()
    """Environments that nothing active names: listed and read, but nothing was loaded for them."""
    problems: tuple[str, ...] = ()
    """Sentences about limits: a search that ran out of time."""


class DamagedFile(Frozen, frozen=True, kw_only=True):
    """A library that is not as the distribution that installed it recorded it. Sizes in bytes."""

    path: str
    distribution: str
    version: str
    location: str = ""
    """The folder of packages that it was installed into, where that is known."""
    state: Literal["missing", "size differs", "hash differs", "unreadable"]
    header: str = ""
    """What its header shows where the size differs: "truncated", "empty"; "good" for a complete library.
    "zeros": at the recorded size, a page of zeros where none can be."""
    stripped: bool = False
    """Of an extension module: only what is not loaded was taken away."""
    size: int | None = None
    recorded: int | None = None
    release: str = ""
    """The release that a module says it is of, where that is not the recorded one."""
    with_folder: bool = False
    """Of a missing file: whether its folder is gone too, as where somebody took it away on purpose."""
    needed_by: str = ""
    """For a missing library: one of the same environment that is linked against it and does not load without it."""

    @property
    def dotted(self) -> str:
        """Return the name by which Python imports it; of a package's start that of the package."""
        folder, slash, name = self.path.removeprefix(self.location).replace("\\", "/").strip("/").rpartition("/")
        stem = name.partition(".")[0]
        inner = folder if stem == "__init__" else f"{folder}{slash}{stem}"
        return inner.replace("/", ".")


class SharedFiles(Frozen, frozen=True, kw_only=True):
    """Libraries that the RECORDs of several distributions list: the one installed last overwrote them."""

    distributions: tuple[str, ...]
    """Name and version of each."""
    files: int
    example: str
    """The path of one."""


class PackageRecords(Frozen, frozen=True, kw_only=True):
    """The frameworks' and NVIDIA's libraries of one environment, compared with the RECORDs of their distributions."""

    prefix: str
    packages: int = 0
    files: int = 0
    """Libraries that were compared by size."""
    hashed: int = 0
    """Of these, compared by content: only with --thorough."""
    damaged: tuple[DamagedFile, ...] = ()
    shared: tuple[SharedFiles, ...] = ()


class ImportFailure(Frozen, frozen=True, kw_only=True):
    """One exception of an import that really failed, and what was found about it in the process."""

    kind: str
    """Its type: "ModuleNotFoundError"."""
    text: str
    module: str = ""
    """The module that it is about: the absent one, or that which lacks ``name``."""
    name: str = ""
    """What the module lacks."""
    absent: bool = False
    """There is no such module."""
    path: str = ""
    """The file that could not be read or loaded."""
    closed: bool = False
    """``path`` is there, and this user may not read it."""
    library: str = ""
    """The first library that the text names."""
    file: str = ""
    """The file whose line was carried out."""
    line: int = 0
    code: str = ""
    """The last lines that were carried out, in one."""
    variable: str = ""
    """The environment variable that the text names, or that these lines read."""
    value: str = ""
    """Its value, where the text has it anyway."""
    found: str = ""
    """The file that the module's first part is imported from."""
    hidden: str = ""
    """The next file of that name on sys.path."""
    standard: bool = False
    """The module belongs to the standard library."""
    outside: bool = False
    """``found`` is neither in the environment nor in the Python that it stands on."""
    owner: str = ""
    """Name and version of the distribution that brings the module, or that recorded the missing file."""
    recorded: bool = False
    """A distribution recorded the file that is missing, or could not be read."""
    asker: str = ""
    """Name and version of the distribution whose line was carried out."""
    reads: tuple[str, ...] = ()
    """Variables that are set and that the files of the failed lines name."""


class ImportTrial(Frozen, frozen=True, kw_only=True):
    """What happened when something was imported in its own interpreter."""

    problem: str = ""
    """The exception's text, or the last lines that were printed."""
    failures: tuple[ImportFailure, ...] = ()
    """That exception with those that it came from: what began it first."""
    ended: str = ""
    """How the process ended, in one sentence; empty when it ended well."""
    seconds: float = 0.0
    experiments: Experiments | None = None
    """What became of the failed import with one thing changed at a time."""


class PackageTrial(ImportTrial, frozen=True, kw_only=True):
    """What happened when a package that uses a framework was imported after it, in the same process."""

    distribution: str
    version: str = ""
    state: Literal["imported", "failed", "ended", "not tried"] = "not tried"
    """ended: the process came to its end while it was imported."""


class ProgramTrial(ImportTrial, frozen=True, kw_only=True):
    """What happened when the lines with which a person's program begins were carried out: its imports, and no more."""

    prefix: str
    """Of the environment."""
    path: str
    state: Literal["imported", "failed", "ended", "no answer"]


class FrameworkTrial(ImportTrial, frozen=True, kw_only=True):
    """What happened when a framework was imported and used in its own interpreter, in a new process."""

    prefix: str
    framework: str
    """Name of the distribution."""
    folder: str = ""
    """The working folder that it was started in; empty for a neutral one."""
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
    """Whether the gradients were checked, too; frameworks that only run models have none."""
    mapped: tuple[Mapped, ...] = ()
    """CUDA and cuDNN files that the process really mapped, each with its owner."""
    printed: str = ""
    """The last lines about the GPU and its libraries that it printed, whether it failed or not."""
    timed_out: bool = False
    """It did not respond within its time and was stopped."""
    clean: FrameworkTrial | None = None
    """The same without LD_LIBRARY_PATH, where that was set and something went wrong or came from there."""
    packages: tuple[PackageTrial, ...] = ()
    """What was imported after it, in the same process."""
    at_once: FrameworkTrial | None = None
    """The same trial with most of the GPU's memory reserved at once, as the framework does by default; otherwise it takes only what it needs."""
