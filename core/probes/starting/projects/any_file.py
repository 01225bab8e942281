"""Programs that any tool starts by a file of its own, in the project or among a person's settings: a window manager's keys, a bar's modules, a server in Go.

There is no list of tools. What is among a person's settings gets what a program of the desktop's session gets, and what is among the machine's what a service
gets; what is in the project may be started in a terminal, where somebody activates an environment first.
Sources: Sublime Text's "Build Systems"; PHP's manual, "Program execution Functions"; uWSGI's documentation, "Python support", and mod_wsgi's,
"Virtual Environments" (without ``home`` and ``python-home``, those of a distribution have the system's Python).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.described import described
from core.host.startup.state import State
from core.knowledge.modules import module_of, module_table
from core.model.facts import PythonEnvironment, StartedPython, StartKind
from core.probes.python.installed.distributions import required_name
from core.probes.starting.commands.any_commands import STARTS, commands_in, named_variables
from core.probes.starting.commands.command_line import Line, StartedFile, language, python_of_text
from core.probes.starting.commands.lacking_modules import options_of_python
from core.probes.starting.commands.started_code import program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.projects.described_programs import programs_described
from core.probes.starting.services.systemd import MACHINES_PATH
from core.probes.starting.ways import Reached

MOST_COMMANDS = 40
"""Maximum number of commands followed in one file, and of programs tried for an open file."""
MOST_FOLDERS = 100
MOST_FILES = 250
"""Maximum number of folders and files looked at below one place."""
MOST_BYTES = 1 << 16
NO_STARTER = late_pattern(
    r"(?i).*\.(?:md|markdown|rst|adoc|txt|tex|html?|log|lock|out|err|csv|tsv|jsonl|ipynb|pyc|pyi|so|o|a|png|jpe?g|gif|svg|ico|webp|ttf|otf|woff2?|pdf|zip|gz|xz|zst|bz2"
    r"|db|sqlite\w*|ldb|bin|dat|pak|npy|npz|pt|pth|onnx|safetensors|gguf|wav|mp[34]|webm|mo|po|diff|patch|orig|bak|old|swp|tmp|css|map|cert|pem|key|desktop|service|socket|timer|xbel)"
    r"|.*(?:history|~|example|sample|template|LICEN[CS]E|README|CHANGELOG|NOTICE|(?<![a-z])(?:log|recent|session|cache|lock)(?![a-z])).*"
)
"""Names of files that start nothing, describe how one starts something, or have a reader of their own."""
OF_A_PROJECT = late_pattern(
    r".*\.(?:pyw?|sh|bash|zsh|fish|slurm|sbatch|job|pbs|lsf|js|mjs|cjs|ts|mts|ya?ml|toml|json|ini|cfg|conf|env|bat|cmd|ps1|vbs|sub|smk)"
    r"|(?:Dockerfile|Containerfile|Procfile|crontab)\b.*|(?:GNU)?[Mm]akefile|\.?[Jj]ustfile|Jenkinsfile|Snakefile|Pipfile|Vagrantfile"
)
"""Files of a project with readers of their own."""
APART = frozenset(
    ("node_modules", "site-packages", "venv", "env", "docs", "doc", "examples", "example", "samples", "tests", "test", "testdata", "fixtures", "spec", "vendor", "third_party", "build", "dist", "target",
     "__pycache__", "logs", "data", "wandb", "runs", "outputs", "checkpoints", "models", "Cache", "CachedData", "Code Cache", "GPUCache", "History", "IndexedDB",
     "Local Storage", "Session Storage", "blob_storage", "Crashpad", "workspaceStorage", "globalStorage", "extensions", "google-chrome", "chromium", "BraveSoftware",
     "pulse", "dconf", "systemd", "autostart", "environment.d", "plugins", "lazy", "Trash", "Steam", "pipx", "uv", "virtualenvs", "jupyter", "flatpak", "containers",
     "icons", "themes", "fonts", "applications", "mime", "pnpm", "JetBrains", "cache", "tmp", "htop", "pip", "conda", "matplotlib", "hub", "mise", "fish")
)  # fmt: skip
"""Folders in which nobody writes how a tool starts a program, or with readers of their own."""
NOT_OF_A_PERSON = frozenset(
    (".cache", ".local", ".config", ".git", ".npm", ".cargo", ".rustup", ".pyenv", ".conda", ".ssh", ".gnupg", ".mozilla", ".ipython", ".jupyter", ".nv", ".docker",
     ".nvm", ".m2", ".gradle", ".steam", ".wine", ".vscode-server", ".vscode", ".venv", ".virtualenvs", ".keras", ".triton", ".pm2", ".kube", ".aws", ".dbus",
     ".Trash", ".thumbnails", ".oh-my-zsh", ".spyder-py3", ".sv", ".runit", ".pki", ".android", ".java", ".dotnet", ".nuget")
)  # fmt: skip
OF_SHELLS = late_pattern(
    r"\.(?:bash|zsh|z|profile|xprofile|xsession|pam_env|inputrc|condarc|netrc|wget|viminfo|less|python|env|npmrc|tmux|screen|tcsh|csh|login).*"
)
OF_TERMINALS = late_pattern(
    r".*/(?:\.config/)?\.?(?:nvim|vim|gvim|emacs|helix|micro|kak|ranger|lf|yazi|nnn|zellij|git|zsh|bash|xonsh|nushell|tmuxp|tmuxinator|circus|uwsgi|process-compose|Code|VSCodium|Cursor)(?:[./-].*|rc|config)?"
)
"""Settings of what is often started in a terminal, with an environment that somebody activated."""
OF_MACHINE = (
    "/etc/udev/rules.d",
    "/etc/incron.d",
    "/etc/xinetd.d",
    "/etc/apache2/sites-enabled",
    "/etc/lighttpd/conf-enabled",
    "/etc/acpi/events",
    "/etc/triggerhappy/triggers.d",
    "/etc/NetworkManager/dispatcher.d",
)
_CONTAINED = late_pattern(r"(?i)\b(?:docker|container|podman|singularity|apptainer)\b")
_NAMES_PYTHON = late_pattern(
    r"python|torchrun|accelerate|streamlit|\.py\b|\b(?:uv|poetry|pdm|pipenv|conda|mamba|pixi) run\b"
)
_SCRIPTS = late_pattern(r"(?<![^\s\"'=;&|()])[^\s\"'=;&|()]{1,300}\.(?:sh|bash)\b")
_IMPORTS = late_pattern(r"(?:^|[\n;])[ \t]*(?:import|from)[ \t]+(\w+)")
_ENDING = late_pattern(r"[^.]\.[A-Za-z]\w*$")
_PAGE = late_pattern(r"\$_(?:FILES|POST|GET|REQUEST|SERVER|COOKIE)\b")
_OPEN_FILE = late_pattern(r"\$\{?file\b\}?")
_NAMES_ITS_PYTHON = late_pattern(
    r"bin/uwsgi\b|\buwsgi\b[^\n]{0,400}[ \"'](?:-H|--(?:home|virtualenv|venv|pyhome|pythonpath|pp))\b"
)
_ALIAS = late_pattern(r"(?m)^[ \t]*+WSGIScriptAlias[ \t]+\S+[ \t]+[\"']?(/[^\s\"']+)")
_OF_AN_ENVIRONMENT = late_pattern(
    r"(?m)^[^#\n]*(?:\bpython-home=|\bWSGIPythonHome\b|/(?:site|dist)-packages/mod_wsgi/)"
)
_PATH_OF_APACHE = late_pattern(r"(?m)^[^#\n]*(?:\bpython-path=|\bWSGIPythonPath[ \t]+)[\"']?([^\s\"']+)")
OF_UWSGI = ("home", "virtualenv", "venv", "pyhome", "pythonpath", "python-path", "pp", "ini", "include")
"""Settings by which uWSGI may find another Python, or its packages."""


class Starter(NamedTuple):
    """What starts the programs of a file."""

    kind: StartKind
    state: State
    """The variables that it gives, and the folder in which it starts them."""
    wanted: frozenset[str]
    """Frameworks, and modules of packages that require one: what else a program lacks may well be meant for another Python."""


def any_file_ways(ground: Ground, desktop: State) -> Iterator[Reached]:
    """Yield the programs that such files start; ``desktop``: what a program of the desktop gets."""
    own = tuple(p for p in ground.pythons if p.kind in ("venv", "conda"))
    if not own:
        return
    ground, wanted = replace(ground, pythons=own), _wanted(own)
    here = Starter("task", ground.session(), wanted)
    person = Starter("launcher", desktop.apart(), wanted)
    machine = Starter("service", State({"PATH": MACHINES_PATH, "PWD": "/"}, {"PATH"}), wanted)
    here.state.values["PWD"], person.state.values["PWD"] = ground.folder, ground.person.home
    for path in _below([ground.folder], 6, ground) if ground.is_in_project else ():
        name = posixpath.basename(path)
        of_apache = name.endswith(".conf") and "WSGIScriptAlias" in (ground.read(path) or "")
        if path.endswith((".sublime-project", ".sublime-build")):
            yield from _ways(path, person, ground)
        elif of_apache or path.endswith((".php", "uwsgi.ini")):
            yield from _ways(path, machine, ground)
        elif not (OF_A_PROJECT.fullmatch(name) or name.startswith(".")):
            yield from _ways(path, here, ground)
    dots = [n for n in ground.around.names(ground.person.home) if n.startswith(".") and n not in NOT_OF_A_PERSON]
    settings = [
        *_below([ground.config()], 3, ground),
        *_below([ground.at_home(n) for n in dots], 1, ground),
        *_below([ground.at_home(".local/share")], 3, ground),
    ]
    for path in dict.fromkeys(settings):
        if not OF_SHELLS.fullmatch(posixpath.basename(path)):
            in_terminal = OF_TERMINALS.fullmatch(path.removeprefix(ground.person.home))
            yield from _ways(path, here if in_terminal else person, ground)
    for path in _below(OF_MACHINE, 0, ground):
        yield from _ways(path, machine, ground)


def _wanted(pythons: tuple[PythonEnvironment, ...]) -> frozenset[str]:
    rows = [row for row in module_table().modules if row.follow]
    brought = re.compile("|".join(row.distributions for row in rows))
    users = {
        module_of(d.name)
        for p in pythons
        for d in p.distributions
        if any(brought.fullmatch(required_name(w)) for w in d.requires)
    }
    return frozenset(users | {row.module for row in rows})


def _below(tops: Iterable[str], depth: int, ground: Ground) -> Iterator[str]:
    """Yield the files at and below some places that may start something, the nearest first."""
    waiting = [(top, 0) for top in tops]
    folders = files = 0
    while waiting and folders < MOST_FOLDERS:
        folder, level = waiting.pop(0)
        names = ground.around.names(folder)
        folders += 1
        if not names and "." in posixpath.basename(folder) and level == 0 and ground.around.kind(folder) == "file":
            names, folder = (posixpath.basename(folder),), posixpath.dirname(folder)
        for name in names:
            if NO_STARTER.fullmatch(name) or (level and name.startswith(".")):
                continue
            path = posixpath.join(folder, name)
            kind = "file" if _ENDING.search(name) and not name.endswith(".d") else ground.around.kind(path)
            if (
                kind == "folder"
                and level < depth
                and name not in APART
                and not ground.where.is_file(f"{path}/pyvenv.cfg")
            ):
                waiting.append((path, level + 1))
            elif kind == "file" and files < MOST_FILES:
                files += 1
                yield path


def _ways(path: str, starter: Starter, ground: Ground) -> Iterator[Reached]:
    text = ground.where.text(path, MOST_BYTES + 1)
    if text is None or len(text) > MOST_BYTES or "\0" in text[:400]:
        return
    is_server = path.endswith("uwsgi.ini") or "WSGIScriptAlias" in text
    if not is_server and not (STARTS.search(text) and _leads_to_python(text, ground.here(starter.state), ground)):
        return
    if starter.kind == "task" and _CONTAINED.search(text):
        return  # its paths may be those of an image
    if path.endswith("uwsgi.ini"):
        yield from _followed(_application(text, path, ground), path, text, starter, ground)
    elif "WSGIScriptAlias" in text:
        yield from _followed(_of_apache(text), path, "", starter, ground)
    elif path.endswith(".php") and _is_no_page(text, ground):
        return
    elif text.startswith("#!"):
        whole = [(1, shlex.quote(path))] if starter.kind == "launcher" else ()
        ways = [*_followed(whole, path, "", starter, ground)]
        own = commands_in(text, path) if starter.kind == "launcher" and "activate" not in text else ()
        yield from ways or _followed(own, path, text, starter, ground)
    else:
        filled = _filled(text, starter.kind, ground)
        described_ones = (programs_described(path, its, starter.kind, starter.state, ground) for its in filled)
        ways = next((found for each in described_ones if (found := [*each])), [])
        yield from (w for w in ways if w.prefix or any(_is_wanted(one, starter.wanted, ground) for one in w.runs))
        yield from () if ways else _followed(commands_in(text, path), path, text, starter, ground)


def _followed(
    commands: Iterable[tuple[int, str]], path: str, text: str, starter: Starter, ground: Ground
) -> Iterator[Reached]:
    """Yield the first way of each line that starts a Python; what the text may set is not known."""
    state, sh = starter.state.apart(path), language("sh", ground)
    state.open |= named_variables(text)
    told: set[int] = set()
    folders = dict.fromkeys((ground.here(starter.state), posixpath.dirname(path)))
    every = (
        (n, its, here)
        for n, command in islice(commands, MOST_COMMANDS)
        for its in _filled(command, starter.kind, ground)
        for here in folders
    )
    for line, command, here in dict.fromkeys(every):
        if line in told or not _leads_to_python(command, here, ground):
            continue
        its = state.apart()
        its.values["PWD"] = here
        found = python_of_text(command, Line(path, line), its, ground, shell="sh")  # noqa: S604 - nothing is run
        if found is None or not _matters(found, ground.here(its), starter.wanted, ground):
            continue
        at = f"{path}: line {line}"
        way = Reached(kind=starter.kind, at=at, state=its, argv=(found.path,), text=command, shell=sh)
        ways = [*program_ways(found, way, ground)]
        told |= {line} if ways else set()
        yield from ways


def _is_wanted(one: StartedPython, wanted: frozenset[str], ground: Ground) -> bool:
    return bool({*one.lacks} & wanted) or (ground.is_in_project and one.program.startswith(f"{ground.folder}/"))


def _leads_to_python(command: str, here: str, ground: Ground) -> bool:
    """Whether a command, or a script that it names, has a word of Python's: most scripts among a person's settings have none."""
    places = (re.sub(r"^(?:~|\$\{?HOME\}?)(?=/)", lambda _m: ground.person.home, s) for s in _SCRIPTS.findall(command))
    texts = (ground.read_file(posixpath.normpath(posixpath.join(here, p))) or "" for p in places)
    return bool(_NAMES_PYTHON.search(command)) or any(map(_NAMES_PYTHON.search, texts))


def _filled(command: str, kind: StartKind, ground: Ground) -> Iterator[str]:
    """Yield a command with each program of the project in place of the file that is open in an editor."""
    if kind == "launcher" and ground.is_in_project and _OPEN_FILE.search(command):
        for name in ground.programs(MOST_COMMANDS):
            yield _OPEN_FILE.sub(lambda _m, name=name: posixpath.join(ground.folder, name), command)  # type: ignore[misc]
    else:
        yield command


def _matters(found: StartedFile, here: str, wanted: frozenset[str], ground: Ground) -> bool:
    """Whether a command runs a program of the project, or one that uses a framework."""
    _letters, how, named = options_of_python(found.arguments)
    place = posixpath.normpath(posixpath.join(here, named))
    if how == "module":
        return named.partition(".")[0] in wanted
    text = named if how == "code" else ground.read_file(place) or ""
    in_project = how == "file" and ground.is_in_project and place.startswith(f"{ground.folder}/")
    tops = {m[1] for m in _IMPORTS.finditer(text)}
    return (
        in_project or bool(tops & wanted) or any(ground.where.is_file(f"{here}/{n}.py") for n in tops if how == "code")
    )


def _is_no_page(text: str, ground: Ground) -> bool:
    """Whether a program in PHP answers no request, or a script of the folder starts PHP's own server, in a shell that may be activated."""
    return not _PAGE.search(text) or any("php -S" in its for its in ground.script_texts())


def _of_apache(text: str) -> Iterator[tuple[int, str]]:
    """Yield the applications of Apache's module, which the system's Python runs where no line names an environment, or the module of one."""
    searched = shlex.quote(":".join(m[1] for m in _PATH_OF_APACHE.finditer(text)))
    for found in _ALIAS.finditer(text) if not _OF_AN_ENVIRONMENT.search(text) else ():
        run = f"PYTHONPATH={searched} /usr/bin/python3 {shlex.quote(found[1])}"
        yield text.count("\n", 0, found.start()) + 1, run


def _application(text: str, path: str, ground: Ground) -> Iterator[tuple[int, str]]:
    whole = described(text, path)
    told = whole.get("uwsgi") if isinstance(whole, dict) else None
    if not isinstance(told, dict) or {*told} & {*OF_UWSGI} or "PYTHONPATH" in text:
        return
    its = {k: v.replace("%d", f"{posixpath.dirname(path)}/") for k, v in told.items() if isinstance(v, str)}
    plugin = re.search(r"\bpython(3?)(\d*)\b", its.get("plugins") or its.get("plugin", ""))
    named = (its.get("module") or its.get("wsgi") or "").partition(":")[0]
    file = its.get("wsgi-file") or its.get("file", "")
    texts = (*ground.script_texts(), *(ground.read(p) or "" for p in ground.kept(".service", ".conf")))
    if (
        plugin is None
        or not (file or re.fullmatch(r"[A-Za-z_][\w.]*", named))
        or any(map(_NAMES_ITS_PYTHON.search, texts))
    ):
        return
    here = posixpath.join(posixpath.dirname(path), its.get("chdir", ""))
    version = f"{plugin[1]}.{plugin[2]}" if plugin[2] else "3"
    line = next((n for n, r in enumerate(text.splitlines(), 1) if re.match(r"(?:module|wsgi|wsgi-file|file)\b", r)), 1)
    run = shlex.quote(file) if file else f"-c 'import {named}'"
    yield line, f"cd {shlex.quote(here)} && /usr/bin/python{version} {run}"
