"""The starts and programs sections: each way in which programs are started here, and programs that the person named."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen
from core.model.facts.closure import Closure, Gap
from core.model.facts.environment import Environment, Variable
from core.model.facts.imports import ImportSearch
from core.model.facts.libraries import FileState
from core.model.facts.loading import Load, Mapped, Resolution
from core.model.facts.machine import Changeable

StartKind = Literal[
    "login",
    "terminal",
    "desktop",
    "ssh",
    "cron",
    "notebook",
    "activation",
    "service",
    "editor",
    "direnv",
    "module",
    "launcher",
    "script",
    "task",
    "multiplexer",
    "ipython",
    "prompt",
]
"""login: a login shell. terminal: an interactive shell in a desktop's terminal. ssh: a command given to ssh. notebook: a
Jupyter kernel. activation: a shell that activated an environment. editor: a terminal of VS Code. launcher: a .desktop file.
script: a shell's script that starts a Python.
task: what a project's file starts one with: a makefile, package.json, an editor's run configuration.
multiplexer: a shell in tmux or screen. ipython: code that IPython runs in its terminals and notebooks.
prompt: the file that Python runs before its own prompt."""

LineForm = Literal[
    "posix",
    "fish",
    "csh",
    "assignments",
    "pam",
    "systemd",
    "crontab",
    "json",
    "cmd",
    "setx",
    "setlocal",
    "powershell",
    "pth",
    "supervisor",
    "xml",
    "python",
    "universal",
]
"""The language of a line: what a comment is there, and how a value is written. pth: a line of Python's .pth files.
setx: of programs that start later alone. setlocal: a line behind it in a batch file that another one calls.
supervisor: environment= of supervisord.conf. xml: an element with name and value as attributes.
python: a statement of a program's own, or of settings that are a program or that a Python program reads; no cure edits it.
universal: what fish keeps of its universal variables; fish alone writes that file."""

NOT_EDITED: tuple[LineForm, ...] = ("csh", "setx", "setlocal", "powershell", "python", "universal")
"""Lines that no cure edits: they are told with file and number, for the person to change."""

OF_WINDOWS: tuple[LineForm, ...] = ("cmd", "setx", "setlocal", "powershell")
"""Languages of Windows' own shells."""


class StartLine(Frozen, frozen=True, kw_only=True):
    """One line of a file that sets, extends or removes a relevant variable."""

    name: str
    does: Literal["set", "unset", "prepend", "append", "open"]
    """open: static reading cannot tell how it changes the variable."""
    value: str = ""
    """What the variable holds after it."""
    added: str = ""
    """For prepend and append: the text that was put before or after the value."""
    file: str
    """As it was opened, links not followed."""
    line: int
    """The first line, from 1."""
    form: LineForm = "posix"
    cut: str = ""
    """What stands behind a blank in the line, without quotation marks: it is no part of the value, and its reader drops it."""
    overridden: bool = False
    """Whether a later line sets the variable again: this line takes effect once that one is removed."""


INTERPRETER = "sys.executable"
"""The name of a line that names the Python which a program runs in, as a path."""


StartReason = Literal["lies in it", "activated", "VIRTUAL_ENV", "CONDA_PREFIX", "name", "imports", "kernel"]
RefusedFor = Literal["", "backslash", "percent", "mark"]
StartFault = Literal[
    "",
    "without call",
    "folder not searched",
    "variable not read",
    "pth files not read",
    "line without effect",
    "batch in UTF-8",
    "not in this folder",
    "not of this account",
    "opens the Store",
    "no source",
    "activation ends",
    "no shell",
    "no conda",
    "percent",
    "blank",
    "own packages",
    "program not there",
    "not searched",
    "exits",
    "no command",
    "block",
    "bracket",
    "itself",
    "marks",
    "title",
    "no console",
    "no service",
    "not exported",
    "not read",
    "policy",
    "variable not set",
    "tool not in PATH",
    "not in code page",
    "file not in code page",
    "moved by OneDrive",
    "place not expanded",
    "not of Windows",
    "misnamed file",
    "file refused",
]


class StartedPython(Frozen, frozen=True, kw_only=True):
    """The Python that this way starts, if it appears to be an environment's."""

    name: str
    """What is typed or written: "python3"; the first word of a kernelspec's argv."""
    path: str
    """The file that the command resolves to; empty for none."""
    prefix: str
    """The environment of this file; empty if it belongs to none."""
    seems: str
    """The environment that appears to be meant."""
    why: StartReason
    """The evidence for that. name: its name. imports: it has what the program imports, and the Python that runs does not.
    kernel: it has what a notebook imports, and the notebook's kernel is not there."""
    source: str = ""
    """The file and line that point to another environment, if known."""
    program: str = ""
    """Of imports: the program's file, the module that it is, or its code."""
    lacks: tuple[str, ...] = ()
    """Of imports: the modules that the Python lacks."""
    sure: bool = True
    """Whether the same Python runs wherever the way is started; a name may lead elsewhere once an environment is activated."""
    fault: StartFault = ""
    """What ends it, other than a Python that is another or gone.

    - no source: the shell that reads ``source`` (file and line) has no command of this name, and so does not come to this Python
    - activation ends: a Dockerfile activates the environment in the step ``source`` alone, and starts the first Python of the image's PATH
    - no shell: what starts programs by itself (a service, a launcher) is given a command of a shell at ``source``, whose first word is ``name``
    - no conda: the shell ends at ``source``, since ``conda activate`` is no command there
    - percent: cron ends the command at ``source`` at a percent sign, which leaves a quote or a bracket open
    - own packages: the program has metadata (PEP 723) that do not list ``lacks``, and its environment has nothing else; with ``command``: it is
      that tool, in an environment of its own
    - program not there: it starts in the folder ``source``, where its program ``name`` is not, which lies in the folder ``program``
    - not searched: ``lacks`` are in the folder ``source``, which Python leaves out by its option ``name``; without an option, since it lies
      above the folder of the program; sys.path: they are found where the program is started in ``source``, by a folder that it adds; a server's
      name, or pytest: it looks for them elsewhere
    - tool not in PATH: ``program`` lets a package run ``name``, which is in the folder ``source``, and PATH does not have that folder
    - misnamed file: ``source`` (file and line) needs the variable ``name``, which the file ``program`` sets; its program reads ``command``
    - not exported: ``source`` (file and line) asks for the variable ``name``, which a script sets for itself alone at ``program`` (file and line)
    - file refused: ``source`` (file and line) reads the settings ``program``, which ``command`` refuses: ``name`` is what it says
    - variable not set: ``source`` (file and line) asks for the variable ``name``, which this session has, the start-up file ``program``, or what
      torchrun starts (``program``: torchrun); ``command`` is set in its place

    On Windows:

    - without call: a batch file ends at ``source``, before it comes to this Python
    - folder not searched: the ._pth file ``source`` leaves out the program's own folder, where ``lacks`` are
    - variable not read: for the same reason PYTHONPATH (``misset``), which names where they are, has no effect
    - pth files not read: a line of a .pth file (``misset``) names where they are, but ``source`` does not import site
    - line without effect: a line for PYTHONPATH (``misset``) names where they are, and has no effect, or is not read as it is meant
    - batch in UTF-8: cmd.exe reads the batch file ``source`` in the code page ``command``, and so does not find ``name``
    - not in this folder: it starts in the folder ``source``, where its Python, its program, or a file that this opens (at ``command``), ``name``
      is not, which lies in the folder ``program``
    - not of this account: the packages ``lacks`` are those of the person, in the folder ``source``, and another account starts it
    - opens the Store: the name is that of the Store's alias
    - exits: a batch file ends at ``source``, where ``name``, a command or a file, fails or is not there
    - no command: ``name`` is the first word of ``source``, and no command there
    - title: ``start`` takes the program ``name`` in quotation marks for a window's title at ``source``
    - block: ``source`` names the variable ``name``, which the block of brackets around it sets: cmd.exe read the block before that
    - bracket: cmd.exe gives the file up at ``source``, since the value of ``name`` has a bracket that ends the block there
    - itself: the batch file ``source`` has the name ``name`` of the command that it starts, and so starts itself
    - marks: ``cmd /c`` takes two quotation marks of the command ``source`` away, and so does not start ``name``
    - no console: ``source`` (file and line) uses the stream ``name``, which the program ``program`` has not without a console
    - no service: Windows starts this Python itself as the service ``source``, and ``program`` does not answer as one
    - not read: the batch file ``source`` is in UTF-16
    - policy: PowerShell's execution policy refuses the script ``name``, which ``source`` starts
    - not in code page: ``source`` (file and line) sends the output elsewhere, whose encoding ``command`` has no letter ``name``, which ``program``
      (file and line) prints
    - file not in code page: ``source`` (file and line) opens ``program``, which is UTF-8, in the encoding ``command``, which cannot read it; or
      the other way round
    - place not expanded: ``source`` opens ``name``, with a part that only a shell replaces, or an escape; ``program``: what it was meant to be
    - moved by OneDrive: ``source`` (file and line) opens ``name``, which lies at ``program`` since OneDrive backs the folder up
    - not of Windows: ``source`` (file and line) asks for the variable ``name``, which Windows does not set, when ``program`` starts
    - blank: cmd.exe ends the path ``program``, which has no quotation marks, at its first blank, in ``source``
    """
    command: str = ""
    """On Windows: the program of a package's command that names this Python, such as streamlit.exe, where that is what is started."""
    brought_by: str = ""
    """Name and version of the package with that command, where the environment ``seems`` has no such command."""
    dead: str = ""
    """The file by which a batch file means to activate an environment, and which is not there, or its line that another system's shell
    would know: it goes on without. On Linux the start-up file that a job reads for its PATH, and that ends without a terminal, or
    a script that is run, and not sourced, to activate an environment."""
    finds_no_conda: bool = False
    """``dead`` asks conda, which is no program of PATH: only a prompt of conda's has it."""
    named_by: tuple[StartLine, ...] = ()
    """The lines that have to name ``seems``' interpreter instead, their ``value`` as it is written; none where several environments have what
    the program imports, or where other lines of the file speak of that Python, too."""
    refused: RefusedFor = ""
    """Of a file that is refused: what stands in it. backslash: one in quotation marks, where it begins an escape. percent: a percent sign, which
    begins a reference. mark: a byte order mark, or text in UTF-16."""
    misset: StartLine | None = None
    """On Windows: the line of ``set`` without which the right Python would start, were there no blanks or quotation marks around the
    variable's name or its value; of a variable that is not read, the line that sets it (no file: the session's)."""
    has: tuple[str, ...] | None = None
    """The distributions of an environment that nothing else led to; None for one that is listed, or that was not read."""


class GoneFile(Frozen, frozen=True, kw_only=True):
    """A file of variables that a way of starting reads, and that is not there."""

    path: str
    file: str
    """What names it."""
    line: int
    ends: bool = False
    """Without it, nothing is started."""
    beside: tuple[str, ...] = ()
    """Files in its folder whose names begin or end like its own: what it may have been renamed to."""


ConfinementKind = Literal["devices", "code", "memory", "place", "user"]


class RegisteredStart(Frozen, frozen=True, kw_only=True):
    """A program that Windows' registry starts: a service, one that starts with the session, what cmd.exe runs first (AutoRun), or what
    opens this person's .py files.
    """

    kind: Literal["service", "logon", "prompt", "association", "policy"]
    """policy: Windows PowerShell refuses scripts, by ``key``."""
    key: str
    """Where it stands: "HKLM\\SYSTEM\\CurrentControlSet\\Services\\Transcriber"."""
    command: str
    """The command line, variables in it not replaced."""
    folder: str = ""
    account: str = ""
    """Of a service: whose variables it gets; empty for the system's."""
    variables: tuple[str, ...] = ()
    """NAME=VALUE, added to those of the machine."""
    only: bool = False
    """Whether these variables are all that it gets."""
    itself: bool = False
    """Of a service: Windows starts the command itself, and no program that is a service on its behalf."""


class Confinement(Frozen, frozen=True, kw_only=True):
    """A setting of a service that keeps its program away from something (systemd.exec(5), systemd.resource-control(5))."""

    kind: ConfinementKind
    """devices: the GPU's device nodes. code: memory that is written and then run. memory: address space. place: a folder is hidden.
    user: the account of the service may not enter a folder."""
    setting: str
    """As it is written: "PrivateDevices=yes"."""
    file: str
    line: int
    path: str = ""
    """The device node that is not allowed, or the folder that is closed."""
    needed: str = ""
    """Of place and user: the file behind it."""
    size: int | None = None
    """Of memory: the bytes of address space that it leaves."""


class Start(Frozen, frozen=True, kw_only=True):
    """One way of starting programs, and the variables that they get by it."""

    id: str
    """Kind and name: "terminal:bash", "notebook:/home/ada/.../kernel.json"."""
    kind: StartKind
    at: str = ""
    """The file or environment that distinguishes this way; for shells, the shell's name."""
    prefix: str = ""
    """The Python environment that it starts; empty for any."""
    argv: tuple[str, ...] = ()
    """The command that it starts, if stated."""
    folder: str = ""
    """The folder in which its Python program searches for modules first; empty where reading does not show it, or nothing is searched."""
    runs: tuple[StartedPython, ...] = ()
    confined: tuple[Confinement, ...] = ()
    variables: tuple[Variable, ...] = ()
    """Variables that matter as programs get them."""
    lines: tuple[StartLine, ...] = ()
    """The lines that gave these variables their values, in the order in which they are run."""
    taken: tuple[StartLine, ...] = ()
    """The lines that removed a variable for programs of this way."""
    files: tuple[str, ...] = ()
    """Every file that was read for it."""
    gone: tuple[GoneFile, ...] = ()
    ignored: tuple[StartLine, ...] = ()
    """Lines of files of variables that would set a variable that matters, in a form that their reader ignores."""
    open: tuple[str, ...] = ()
    """Variables that reading did not decide, and that no shell was asked for."""
    asked: bool = False
    """Whether the shell itself was asked."""


class StartLook(Frozen, frozen=True, kw_only=True):
    """The observations for some ways of starting whose variables differ from this session's in a relevant way."""

    starts: tuple[str, ...]
    """``Start.id`` of each; they agree."""
    environment: Environment | None = None
    """The environment section of such a program."""
    loads: tuple[Load, ...] | None = None
    """The loads section of such a program; None if it is the same as this session's."""
    closures: tuple[Closure, ...] | None = None
    """The closures section of such a program."""
    imports: tuple[ImportSearch, ...] | None = None
    """The imports section of such a program."""
    counting: tuple[str, ...] | None = None
    """Variables of the loader and of Python's search that differ from this session's so that it can matter: an entry without any library
    does not. None in reports from before this field."""


class ExaminedProgram(Frozen, frozen=True, kw_only=True):
    """A program that the person named: an executable, or a running process."""

    named: str
    """As the person gave it: a path, or a process' number."""
    path: str = ""
    """The executable that runs in the end; empty where none was found."""
    pid: int | None = None
    chain: tuple[str, ...] = ()
    """The wrappers that lead to it, the named file first: a script, a shortcut, a .desktop file."""
    interpreter: str = ""
    """The Python that runs it, if it is a Python program."""
    architecture: str = ""
    resolutions: tuple[Resolution, ...] = ()
    """Every library that it needs, and those that these need, each with its candidates in search order."""
    linked: tuple[str, ...] = ()
    """Names of those libraries that are linked against, so required at load time. The others are opened by name."""
    gaps: tuple[Gap, ...] = ()
    """Functions that it or its dependencies import and that the file found for them does not export (Windows)."""
    nearby: tuple[str, ...] = ()
    """Files in the program's own folders that have the names of what its search does not find (Windows)."""
    lost: str = ""
    """Where a program that PyInstaller packed has Python's library, or the archive of its standard library, which is not there."""
    alone: bool = False
    """Whether nothing else is there of the folder with what is ``lost``, either: only the program was moved or copied."""
    mapped: tuple[Mapped, ...] | None = None
    """CUDA and cuDNN files that the running process has mapped; None: not a running process, or closed to this user."""
    gone: tuple[str, ...] = ()
    """Of these, files that were replaced or removed since it started."""
    variables: tuple[Variable, ...] | None = None
    """Variables that matter as the running process got them; None as for ``mapped``."""
    state: FileState = "good"
    """Of the executable itself."""
    problem: str = ""
    """Why it could not be examined, in one sentence."""
    unreadable: bool = False
    """Whether missing permissions were the reason."""
    changeable: Changeable | None = None
