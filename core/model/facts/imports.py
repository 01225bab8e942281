"""The section about Python's import search: sys.path of each environment, in order, and what prevents imports."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen
from core.model.facts.closure import Edge

SearchOrigin = Literal[
    "start", "PYTHONPATH", "standard library", "site-packages", "user site", "system site-packages", "pth", "._pth"
]
"""What put an entry on sys.path. start: the folder of the script, or the working folder. pth: a line of a .pth file."""
BEFORE_THE_PACKAGES: tuple[SearchOrigin, ...] = ("start", "PYTHONPATH", "user site", "pth")
"""Origins of entries that may precede the packages of an environment."""
PACKAGES: tuple[SearchOrigin, ...] = ("site-packages", "system site-packages", "user site")
"""Origins of entries into which installers put packages."""


class SearchEntry(Frozen, frozen=True, kw_only=True):
    """One entry of sys.path."""

    path: str
    origin: SearchOrigin
    source: str = ""
    """The file that added it; for PYTHONPATH the variable. Of a standard library: what put it before Python's own, if something did."""
    line: int = 0
    """Its line, counted from 1; 0 where a file's name says enough."""


class StartCode(Frozen, frozen=True, kw_only=True):
    """Code that the interpreter runs at every start, and whose effect on the search static reading cannot show."""

    source: str
    line: int = 0
    text: str = ""
    """A .pth file's line, shortened; empty for sitecustomize and usercustomize."""
    sets: tuple[tuple[str, str], ...] = ()
    """Variables that it gives a constant value at every start, as far as its text tells."""
    stubs: tuple[str, ...] = ()
    """Link-time stubs of the driver's libraries that it loads into every program, as far as its text tells."""

    @property
    def place(self) -> str:
        """Its file, and its line where there is one."""
        return f"{self.source}:{self.line}" if self.line else self.source


class FoundModule(Frozen, frozen=True, kw_only=True):
    """What ``import NAME`` finds in one environment, in one way of starting."""

    name: str
    kind: Literal["package", "module", "extension", "bytecode", "namespace", "none"] = "none"
    """namespace: folders without __init__ only. none: there is nothing of this name."""
    path: str = ""
    """The file that is run, or the first folder of a namespace."""
    entry: int = -1
    """Index in ``ImportSearch.entries`` of the entry that found it; -1 for an editable installation's own finder, and for none."""
    owner: str = ""
    """Name and version of the distribution that is in the same folder and brings this module; empty for none."""
    hidden: tuple[str, ...] = ()
    """What would be found without it, in order: files and folders of further entries."""
    hidden_owner: str = ""
    """The distribution of the first of these files that belongs to one."""
    foreign: tuple[str, ...] = ()
    """Extension modules that it needs and that exist only for another Python or processor."""
    wheel_tags: tuple[str, ...] = ()
    """The tags in its owner's WHEEL file, if none of them matches this Python and system."""
    alone: bool = False
    """Whether its entry's folder contains nothing else that can be imported."""
    unlike: bool = False
    """For one that hides a module of Python itself, or one that nothing installed: its text has no name that the hidden module has."""
    whole: bool = False
    """For one that nothing installed and that hides another: it has every file and every name of that one."""
    alike: bool = False
    """For one that nothing installed and that hides another: it has most of the files or definitions of that one, and its extension
    modules: a clone, another release, a copy."""
    meant_by: tuple[str, ...] = ()
    """For one that nothing installed and that hides another: file and line of programs beside it that ask it for what the hidden one does
    not have. They must change with its name."""
    project: str = ""
    """Of a package that nothing installed: the file beside it that makes its folder a project's (pyproject.toml, .git)."""


class EndedImport(Frozen, frozen=True, kw_only=True):
    """The first import that fails when a framework is imported, found by reading the files."""

    starts: tuple[str, ...]
    """The modules whose import fails here: torch, and torchvision, which imports torch."""
    importer: str
    """The file whose line asks."""
    line: int
    asked_by: str = ""
    """Name and version of the installed package that this file is of, where its folder of metadata bears the package's name."""
    wanted: str
    """The module that is asked for: "typing_extensions", "google.protobuf"."""
    kind: Literal[
        "absent", "no name", "empty", "foreign", "unfit", "unreadable", "damaged", "byte code", "refused", "no module",
        "no parameter", "unmade",
    ]  # fmt: skip
    """absent: no such module, or only folders without __init__. no name: it has no such name. empty: a file of no bytes.
    unreadable: a file that this user may not read. damaged: its bytes are no text, such as zeros.
    byte code: a .pyc that Python takes, and that is cut off or for another Python.
    foreign: extension modules for another Python or processor alone. unfit: an extension module that the loader does not take.
    refused: the importer's own code compares the module's release, and raises. no module: a library that has no start of a
    Python module. no parameter: a function of it is called with a keyword, or with arguments by place, that it does not take. unmade: a part of the person's own project that is
    still to be compiled from ``path``, or to be fetched: the submodule ``name`` of ``path``, Git's file of them; or to be installed: the clone
    ``path``, with the package ``hidden`` in it."""
    name: str = ""
    """The name that is imported from it, if it lacks that; the keyword that its function does not take, or how many arguments it does not
    take by place: "*2"; one that it must be given: "+Loader"; damaged: the encoding of a program that Python does not read, or "?"; refused: the error that a called function
    raises by itself."""
    function: str = ""
    """no parameter: the function that does not take the keyword: "httpx.Client"."""
    call: str = ""
    """The function of a package that a program calls, if the end is in what it does: "openai.OpenAI"."""
    called_at: str = ""
    """File and line of the program that call it: "/home/ada/train.py:12"."""
    path: str = ""
    """What was found in its place: a file, or a folder."""
    entry: int = -1
    """Which of ``ImportSearch.entries`` led there."""
    added: SearchEntry | None = None
    """The entry that led there, if the program itself puts it on sys.path."""
    owner: str = ""
    """Name and version of the distribution that contains the module that was found, or should contain the missing one."""
    hidden: str = ""
    """The next file of that name, which would be found without it."""
    hidden_owner: str = ""
    edge: Edge | None = None
    """unfit: why it does not load."""
    recorded: bool = False
    """unfit: whether the package itself contains the missing library. absent: whether its record lists the missing module."""
    required_by: str = ""
    """absent: name and version of an installed package that requires, wherever it runs, the one which should contain the module."""
    required_versions: str = ""
    """Which releases of it that package takes: "<1.4,>=1.1.0"; empty for any."""
    refused_by: str = ""
    """Name and version of an installed package that asks for another release of the one whose import ends here, if only for its extras."""
    asked_of_it: str = ""
    """The requirement of that package: "accelerate>=0.26.0"."""
    lacks_package: bool = False
    """absent: a program asks for a package that its environment does not have; nothing installed asks for it."""
    others_find_theirs: bool = False
    """With ``lacks_package``: other programs in that folder use the environment's packages, and find all that they import. damaged, with an
    encoding: others there use the packages, too."""
    elsewhere: tuple[str, ...] = ()
    """With ``lacks_package``: environments of this machine that have the package; or the line of a .pth file ("C:\\libs\\a.pth:2") in a folder
    of PYTHONPATH, where Python reads none."""
    distribution: str = ""
    """The distribution that the package is of there; empty where nothing tells."""
    tried_first: str = ""
    """The module that the same statement asks for first, and that is not installed: with it this line is not reached."""
    plugin: str = ""
    """Name and version of the package with a plug-in that the framework loads by itself, if the import ends there."""

    @property
    def unread_line(self) -> str:
        """The line of a .pth file in ``elsewhere``; empty where there is none."""
        return next((place for place in self.elsewhere if ".pth:" in place), "")


class ByteCode(Frozen, frozen=True, kw_only=True):
    """Byte code that Python takes, and that ends an import or hides what its source says."""

    path: str
    source: str = ""
    """The source that Python does not read because of it; empty where there is none."""
    state: Literal["cut", "other text", "other Python"]
    """cut: its end is missing. other text: it was made from another text than its source, and says that nobody need compare.
    other Python: without a source, and of a form that this Python refuses."""


class BuiltForNumpy1(Frozen, frozen=True, kw_only=True):
    """A package with a compiled module that uses NumPy's C API as of NumPy 1 only."""

    distribution: str
    version: str
    path: str
    """The module."""


class EnvironmentFault(Frozen, frozen=True, kw_only=True):
    """What prevents an environment's interpreter from starting as set up, or makes its tools use another one."""

    kind: Literal[
        "base gone", "interpreter gone", "upgraded beneath", "moved", "copied", "library gone", "no standard library",
        "no configuration", "another library", "packages not named", "line ignored", "ended at its start", "packages taken away",
        "import refused",
    ]  # fmt: skip
    """no configuration: an environment without pyvenv.cfg. another library: the standard library of another Python is before its own. packages not
    named: by the ._pth file of an embeddable Python for Windows, whose lines alone are searched. line ignored: of a .pth file, by letters that
    are no part of the folder's name. The last three: by its start-up code, seen in a child process. moved, copied: its scripts name another folder, which is gone or still there."""
    path: str
    """What was examined: a file, a link, a setting's value."""
    source: str = ""
    line: int = 0
    detail: str = ""
    """upgraded beneath: "3.11 3.12" (its packages', its interpreter's). library gone: the file name. another library: "3.10", or nothing.
    packages not named: their folder. import refused: "torch,numpy
    ImportError: not here" in one line: the modules, and what their import says."""


class OverwrittenPackage(Frozen, frozen=True, kw_only=True):
    """A package that two distributions of different releases installed: the last one wrote over the other's modules."""

    package: str
    """The name that is imported."""
    path: str
    written: str
    """Name and version of the distribution whose modules are there."""
    lost: str
    """Of the one whose modules were overwritten."""


class Remains(Frozen, frozen=True, kw_only=True):
    """What an interrupted installation or removal left in a folder of packages."""

    path: str
    kind: Literal["renamed", "no metadata", "no version", "no record"]
    """renamed: pip's "~orch". no metadata, no record: a .dist-info that lacks METADATA or RECORD. no version: its METADATA states none,
    as an empty file does."""
    distribution: str = ""
    """The distribution that it belongs to, judged by its name."""
    behind: str = ""
    """no metadata, no version: the metadata of the same distribution that Python finds first; empty if it finds these."""


class LeftModule(Frozen, frozen=True, kw_only=True):
    """A compiled module that no installed distribution recorded, and that hides a recorded one of the same name."""

    path: str
    hides: str
    distribution: str
    version: str


class Misfit(Frozen, frozen=True, kw_only=True):
    """A requirement of a package that somebody asked for, which an installed package of another series does not meet."""

    distribution: str
    version: str
    wanted: str
    specifier: str
    installed: str
    location: str


class ImportSearch(Frozen, frozen=True, kw_only=True):
    """sys.path of one environment, as a new program gets it in the folder and with the variables of the scan; by reading alone."""

    prefix: str
    python: str = ""
    """"3.11": of the interpreter that starts, whatever pyvenv.cfg says."""
    folder: str = ""
    """The working folder, if it is the first entry; empty if it is not (PYTHONSAFEPATH, a ._pth file)."""
    entries: tuple[SearchEntry, ...] = ()
    start_code: tuple[StartCode, ...] = ()
    modules: tuple[FoundModule, ...] = ()
    hidden_standard: tuple[FoundModule, ...] = ()
    """Modules of the standard library that frameworks import, and that a file of another entry hides."""
    ended: tuple[EndedImport, ...] = ()
    numpy_1: tuple[BuiltForNumpy1, ...] = ()
    """Packages in environments with NumPy 2 whose compiled modules were built with NumPy 1's headers."""
    faults: tuple[EnvironmentFault, ...] = ()
    remains: tuple[Remains, ...] = ()
    unrecorded: tuple[tuple[str, str], ...] = ()
    """Distributions that installed ones require, and that have no folder of metadata although their module is there: name, and that file."""
    overwritten: tuple[OverwrittenPackage, ...] = ()
    left: tuple[LeftModule, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    idle: tuple[str, ...] = ()
    """Distributions of frameworks, and of packages whose import ends, that nothing in the working folder names, although programs there use
    other packages of the environment."""
    on_cpu: tuple[str, ...] = ()
    """Distributions of frameworks that programs of the working folder import, and that compute nothing there but on the CPU."""
    on_cudnn: tuple[str, ...] = ()
    """What calls cuDNN through CTranslate2, or names its files: programs of the working folder; where it has none, packages."""

    def entry(self, number: int) -> SearchEntry | None:
        """Return an entry of sys.path by its number; None for a module that none of them has."""
        return self.entries[number] if 0 <= number < len(self.entries) else None
