"""A Dockerfile whose program is an environment's: lines that set a variable for nothing, because each RUN has a shell of its own; and an
environment that is made, and that the program does not get.

Source: Docker's documentation, "Dockerfile reference" (RUN; ENV, which ends with its stage; COPY --from; CMD; ENTRYPOINT) and "Multi-stage
builds". What the base image sets does not show, so a way is told only where such a line would have set a variable that no ENV sets.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator

import msgspec

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import statements_of
from core.host.startup.plain import json_value
from core.host.startup.posix import ShellReader
from core.host.startup.state import State, Surroundings, fill
from core.host.startup.syntax import Simple, parse
from core.probes.python.text.module_text import packages_imported
from core.probes.starting.commands.command_line import Line, python_of_command
from core.probes.starting.commands.lacking_modules import modules_of
from core.probes.starting.commands.runners import SECURE_PATH, words_of
from core.probes.starting.commands.started_code import own_prefix
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, ended_start

NAMES = late_pattern(r"(?:Dockerfile|Containerfile)(?:\.[\w-]+)?|[\w-]+\.Dockerfile", re.IGNORECASE)
MOST_FILES = 8
_ENDS = late_pattern(r"(?:^|&&|;)\s*export\s+([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s\"';&|]*)\s*$")
"""An export behind which its shell runs nothing more."""
_ACTIVATES = late_pattern(
    r"(?:^|&&|;)\s*(?:(?:\.|source)\s+(\S+)/bin/activate|(?:conda|mamba|micromamba)\s+activate\s+([^\s;&|]+))",
    re.MULTILINE,
)
_WRITES = late_pattern(
    r"\becho\s+[\"']?(?:(?:\.|source)\s+([^\s\"']+)/bin/activate|(?:conda|mamba|micromamba)\s+activate\s+([^\s\"';&|]+))[\"']?\s*>>?\s*\S*?(\.bashrc|\.profile|\.bash_profile|bash\.bashrc)\b"
)
"""A line that activates an environment, and the start-up file of a shell that gets it."""
_READS_FILES = late_pattern(r"\bBASH_ENV\b|(?:^|\s|\"|')-\w*[il]\w*(?=$|[\s\"',])|--login|--rcfile|bashrc|profile")
"""A shell that reads such a file."""
_PYTHON = late_pattern(r"python[\d.]*")
_PAIR = late_pattern(r"(?<!\w)([A-Za-z_]\w*)=(\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:\\.|[^\s\"'\\])*)")


def image_ways(ground: Ground) -> Iterator[Reached]:
    """Yield each Dockerfile of the working folder that starts an environment's Python, and exports a variable for nothing."""
    names = ground.around.names(ground.folder) if ground.folder not in ("/", "") else ()
    for name in [n for n in names if NAMES.fullmatch(n)][:MOST_FILES]:
        path = posixpath.join(ground.folder, name)
        text = ground.read(path) or ""
        stage = _last_stage(text)
        yield from _exported_for_nothing(stage, path, ground)
        yield from _sourced_by_sh(stage, path, ground)
        yield from _activated_for_a_step(stage, path, ground)
        yield from _installed_beside(last_build(_instructions(text)), stage, path, ground)


_SH_IS_NO_DASH = late_pattern(
    r"(?i)alpine|busybox|centos|rocky|alma|fedora|rhel|\bubi\d|redhat|amazonlinux|oracle|opensuse|arch"
)
"""Bases whose /bin/sh has a command ``source``; Debian's and Ubuntu's, which most bases come from, has none."""
_SOURCES = late_pattern(r"(?:^|&&|;)\s*source\s+[\"']?([^\s\"';&|]+)/bin/activate[\"']?(?=[\s;&])(.*)", re.DOTALL)


class _Start(msgspec.Struct, frozen=True):
    """A CMD or an ENTRYPOINT."""

    told: str
    line: int
    by_dash: bool
    """Its shell would be dash."""


class _Stage(msgspec.Struct):
    """The instructions behind a FROM."""

    by_dash: bool = True
    """The shell that runs the next command is dash."""
    path: str = ""
    """The ENV that gives PATH."""
    given: set[str] = msgspec.field(default_factory=set)
    """Variables that an ENV gives."""
    starts: dict[str, _Start] = msgspec.field(default_factory=dict)
    exports: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict)
    """Variable -> value and line of a RUN that ends behind its export."""
    activated: list[tuple[str, str, int, str]] = msgspec.field(default_factory=list)
    """Each RUN that activates an environment: its folder, or its name, the line, and the start-up file in which it writes that, if it does."""
    reads_files: bool = False
    """Its shell, or each bash, reads a start-up file."""


def _last_stage(text: str) -> _Stage:
    """Return the last stage of a Dockerfile: what it makes is the image."""
    stage = _Stage()
    for word, told, line in _instructions(text):
        match word:
            case "FROM":
                stage = _Stage(by_dash=not _SH_IS_NO_DASH.search(told))
            case "SHELL":
                stage.by_dash = stage.by_dash and "bash" not in told
                stage.reads_files = bool(_READS_FILES.search(told))
            case "ENV":
                stage.given |= {n for n, _value in _PAIR.findall(told)} or {told.split(" ")[0]}
                stage.path = told if re.search(r"(?:^|\s)PATH[= ]", told) else stage.path
                stage.reads_files = stage.reads_files or "BASH_ENV" in told
            case "CMD" | "ENTRYPOINT":
                stage.starts[word] = _Start(told, line, stage.by_dash)
            case "RUN":
                if found := _ENDS.search(told):
                    stage.exports[found[1]] = (found[2].strip("\"'"), line)
                if found := _ACTIVATES.search(told):
                    stage.activated.append((found[1], found[2], line, ""))
                elif found := _WRITES.search(told):
                    stage.activated.append((found[1], found[2], line, found[3]))
    return stage


def _started(stage: _Stage) -> list[str]:
    """Return the words of the command that a container runs."""
    return [w for n in ("ENTRYPOINT", "CMD") if n in stage.starts for w in _command(stage.starts[n].told)]


def _sourced_by_sh(stage: _Stage, path: str, ground: Ground) -> Iterator[Reached]:
    """Yield a Dockerfile that starts with ``source .../bin/activate`` where /bin/sh reads it, and then a Python by its bare name."""
    start = stage.starts.get("ENTRYPOINT") or stage.starts.get("CMD")
    words = _command(start.told) if start and start.told.startswith("[") else []
    by_sh = posixpath.basename(words[0]) == "sh" and words[1:2] == ["-c"] if words else start and start.by_dash
    found = _SOURCES.search(" ".join(words[2:]) if words else start.told) if start and by_sh else None
    prefix = _environment_at(found[1], ground) if found else ""
    if found and start and prefix and "bin" not in stage.path and re.search(r"(?:^|[\s;&])python[\d.]*\s", found[2]):
        at = f"{path}:{start.line}"
        one = ended_start(prefix, "python", f"{prefix}/bin/python", "no source", "activated", source=at)
        yield Reached(kind="task", at=path, state=ground.session(path), runs=(one,))


def _activated_for_a_step(stage: _Stage, path: str, ground: Ground) -> Iterator[Reached]:
    """Yield a Dockerfile that activates an environment in a RUN, or for the shells of a terminal, and then starts the first Python of PATH."""
    known = [p.prefix for p in ground.pythons if p.kind in ("venv", "conda")]
    words = _started(stage)
    by_shell = len(words) > 2 and posixpath.basename(words[0]) in ("sh", "bash") and words[1] == "-c"
    words, by_scripts = _behind_scripts(words_of(words[2]) if by_shell else words, stage, ground)
    prefix, line, file = next(
        (
            (p, line, file)
            for folder, name, line, file in (*by_scripts, *reversed(stage.activated))
            for p in known
            if p == _environment_at(folder or name, ground) or (name and posixpath.basename(p) == name)
        ),
        ("", 0, ""),
    )
    if file and (stage.reads_files or any(_READS_FILES.search(w) for w in _started(stage))):
        return
    names_it = f"{prefix}/bin" in stage.path or re.search(r"\$\{?(?!PATH\b)\w", stage.path)
    if prefix and not names_it and words and _PYTHON.fullmatch(words[0]):
        at = f"{path}:{line}"
        ends = ended_start(
            prefix, words[0], f"{prefix}/bin/python", "activation ends", "activated", source=at, program=file
        )
        yield Reached(kind="task", at=path, state=ground.session(path), argv=tuple(words), runs=(ends,))


def _installed_beside(build: Build, stage: _Stage, path: str, ground: Ground) -> Iterator[Reached]:
    """Yield a Dockerfile whose packages all go into an environment or a place that the Python which it starts does not search."""
    words = _through_a_script(_started(stage), ground)
    told = build.takes_beside(words[0]) if len(words) > 1 and _PYTHON.fullmatch(posixpath.basename(words[0])) else None
    if told is None:
        return
    program = words[1].removeprefix(f"{build.folder}/")
    text = ground.read(posixpath.normpath(posixpath.join(ground.folder, program))) if program.endswith(".py") else ""
    imported = packages_imported(statements_of(text or ""))
    for home in (p for p in ground.pythons if p.kind in ("venv", "conda")):
        if modules_of(d.name for d in home.distributions).intersection(imported):
            command, line = told
            one = ended_start(
                home.prefix, words[0], f"{home.prefix}/bin/python", "activation ends", "activated", source=f"{path}:{line}", command=command
            )  # fmt: skip
            yield Reached(kind="task", at=path, state=ground.session(path), argv=tuple(words), runs=(one,))
            return


def _through_a_script(words: list[str], ground: Ground) -> list[str]:
    """Return the command that a container runs, or the last one of a shell's script of the project; empty where that may choose a Python."""
    if len(words) > 2 and posixpath.basename(words[0]) in ("sh", "bash") and words[1] == "-c":
        text: str | None = words[2]
    else:
        script = next((w for w in words[:2] if w.endswith(".sh")), "")
        text = ground.read(posixpath.join(ground.folder, posixpath.basename(script))) if script else None
        if not script:
            return words
    nodes = parse(text or "") or []
    last = nodes[-1] if nodes and not re.search(r"activate|\bPATH=|\bconda\b|\brun\b|\$@", text or "") else None
    its = [w.text.strip("\"'") for w in last.words] if isinstance(last, Simple) else []
    return its[1:] if its[:1] == ["exec"] else its


def _behind_scripts(
    words: list[str], stage: _Stage, ground: Ground
) -> tuple[list[str], list[tuple[str, str, int, str]]]:
    """Return the command behind scripts that are run, and not sourced, before it; with what those activate for themselves."""
    found: list[tuple[str, str, int, str]] = []
    while "&&" in words:
        head = [w for w in words[: words.index("&&")] if posixpath.basename(w) not in ("sh", "bash")]
        text = ground.read(posixpath.normpath(posixpath.join(ground.folder, head[0]))) if head else None
        if text is None or "/" not in head[0]:
            break
        words = words[words.index("&&") + 1 :]
        if its := _ACTIVATES.search(text):
            found.append((its[1], its[2], max(s.line for s in stage.starts.values()), ""))
    return words, found


def _environment_at(folder: str, ground: Ground) -> str:
    """Return the environment in a folder, by whatever path or link; empty for none."""
    place = ground.where.real_path(posixpath.normpath(posixpath.join(ground.folder, folder)))
    return next((p.prefix for p in ground.pythons if place == ground.where.real_path(p.prefix)), "")


def _exported_for_nothing(stage: _Stage, path: str, ground: Ground) -> Iterator[Reached]:
    """Yield a Dockerfile whose RUN exports a variable that no ENV gives the program."""
    lost = {n: its for n, its in stage.exports.items() if n not in stage.given}
    words = _started(stage)
    if not lost or not words or not words[0].startswith("/"):
        return
    state = ground.session(path)
    state.values["PWD"] = ground.folder
    found = python_of_command(words, Line(path, max(s.line for s in stage.starts.values())), state, ground)
    prefix = own_prefix(found, ground.pythons) if found else ""
    if prefix:
        for name, (value, line) in lost.items():
            state.values.pop(name, None)
            state.lines.pop(name, None)
            filled = fill(r"\$\{?(\w+)\}?", lambda m: ground.env.get(m[1], ""), value)
            state.ignore(name, filled, path, line, "posix")
        yield Reached(kind="task", at=path, state=state, prefix=prefix, argv=(words[0],))


def _command(told: str) -> list[str]:
    found = json_value(told) if told.startswith("[") else None
    return [str(w) for w in found] if isinstance(found, list) else words_of(told)


def _instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each instruction, what stands behind it, and its last line; continued lines are one."""
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        parts.append(line.rstrip().removesuffix("\\"))
        if line.rstrip().endswith("\\"):
            continue
        word, _space, rest = " ".join(parts).strip().partition(" ")
        parts = []
        if word:
            yield word.upper(), rest.strip(), number


# --- what the steps install -------------------------------------------------------------------------------------------

BARE = late_pattern(
    r"(?i)(?:--\S+\s+)*(?:docker\.io/)?(?:(?:library/)?(?:python|debian|ubuntu)|nvidia/cuda|ghcr\.io/astral-sh/uv|continuumio/\w+"
    r"|condaforge/\w+|mambaorg/micromamba)(?=[:@\s]|$)"
)
"""Images whose Python has no framework."""
_RELEASE = late_pattern(r"python:(\d+\.\d+)")
_OF_TOOLS = frozenset(("uv", "poetry", "pdm", "pipenv", "pip", "setuptools", "wheel", "virtualenv", "hatch"))
"""Packages that bring nothing which a program imports."""
_MANAGERS = {"uv": ("sync",), "poetry": ("install",), "pdm": ("sync", "install"), "pipenv": ("sync", "install")}
"""Managers, and their commands that install into the project's environment."""
_CONDAS = ("conda", "mamba", "micromamba")
_CALLS_MORE = late_pattern(
    r"(?i)(?!\S*(?:conda|forge|mamba))\S*\.sh(?: .*)?|(?:make|cmake|ansible\S*)\b.*|(?:ba)?sh (?!\S*(?:conda|forge|mamba)).*"
)
"""Commands that may install more than reading shows; conda's installer makes an environment without packages."""
_PACKAGES = late_pattern(r"/(?:lib(?:/python[\d.]+(?:/(?:site|dist)-packages)?)?)?")
_OF_THE_SYSTEM = (*SECURE_PATH.split(":"), "/opt/conda/bin")
_HAS_NO_PYTHON = late_pattern(r"cuda|nvidia|/\.(?:local|cargo)/|node|/sbin$")
OWN = ""
"""The image's own Python."""

Told = tuple[str, int]
"""A command, and its line."""


class Build(msgspec.Struct):
    """A stage of a Dockerfile as its steps leave it."""

    base: str = ""
    bare: bool = False
    variables: dict[str, str] = msgspec.field(default_factory=lambda: {"PATH": SECURE_PATH})
    folder: str = "/"
    home: str = "/root"
    made: set[str] = msgspec.field(default_factory=set)
    """Folders of virtual environments."""
    installed: dict[str, Told] = msgspec.field(default_factory=dict)
    """Environment's folder, OWN, or "~" and a person's home -> what last installed packages there."""
    lost: list[Told] = msgspec.field(default_factory=list)
    """Copies of packages that another release of Python does not search."""
    unclear: bool = False

    def copy(self) -> Build:
        """Return a stage that begins as this one ends."""
        return msgspec.structs.replace(
            self,
            variables=dict(self.variables),
            made=set(self.made),
            installed=dict(self.installed),
            lost=list(self.lost),
        )

    def python_of(self, program: str, path: str) -> str | None:
        """Return the environment of a program that is called by name or path; OWN for none that was made here, None where that does not show."""
        called = posixpath.dirname(posixpath.join(self.folder, program))
        for place in [called] if "/" in program else path.split(":"):
            made = posixpath.dirname(posixpath.normpath(place))
            if made in self.made:
                return made
            if place in _OF_THE_SYSTEM:
                return OWN
            if not _HAS_NO_PYTHON.search(place):
                return None
        return OWN

    def takes_beside(self, program: str) -> Told | None:
        """Return what installed packages, if the Python of this name or path gets none of them."""
        place = self.python_of(program, self.variables["PATH"])
        if not self.bare or self.unclear or place is None or place in self.installed:
            return None
        if place == OWN and f"~{self.home}" in self.installed:
            return None
        return next(iter((*self.lost, *reversed(self.installed.values()))), None)

    def take(self, word: str, told: str, line: int, stages: dict[str, Build]) -> None:
        """Do one instruction."""
        told = fill(r"\$\{?(\w+)\}?", lambda m: self.variables.get(m[1], m[0]), told) if word != "RUN" else told
        match word:
            case "ENV" | "ARG":
                name, _space, rest = told.partition(" ")
                pairs = _PAIR.findall(told) or [(name, rest.strip())]
                self.variables |= {n: v.strip("\"'") for n, v in pairs}
            case "WORKDIR":
                self.folder = posixpath.normpath(posixpath.join(self.folder, told))
            case "USER":
                self.home = "/root" if told in ("root", "0") else f"/home/{told.partition(':')[0]}"
            case "COPY" if found := re.match(r"(?:--\S+\s+)*--from=(\S+)\s+(?:--\S+\s+)*(.*)", told):
                for source in shlex.split(found[2])[:-1] if found[1] in stages else ():
                    self._copy(stages[found[1]], source.rstrip("/") or "/", shlex.split(found[2])[-1], (told, line))
            case "SHELL" if re.search(r"conda|mamba", told):
                self.unclear = True  # each command runs in an environment
            case "RUN":
                self._run(re.sub(r"^(?:--\S+\s+)+", "", told), line)
            case _:
                pass

    def _copy(self, other: Build, source: str, target: str, told: Told) -> None:
        target = posixpath.normpath(posixpath.join(self.folder, target))
        self.unclear = self.unclear or other.unclear
        for place, its in other.installed.items():
            if place == OWN:
                tree = next((t for t in ("/usr/local", "/usr") if source.startswith(t)), "")
                if not tree or not _PACKAGES.fullmatch(f"/{source.removeprefix(tree).strip('/')}"):
                    continue
                ours, theirs = _RELEASE.search(self.base), _RELEASE.search(other.base)
                if ours and theirs and ours[1] != theirs[1] and "python" in source:
                    self.lost.append((f"COPY {told[0]}", told[1]))
                else:
                    self.installed[OWN] = its
            elif place.startswith("~") and source == f"{place[1:]}/.local":
                self.installed[f"~{posixpath.dirname(target)}"] = its
            elif f"{place}/".startswith(f"{source}/"):
                moved = posixpath.normpath(f"{target}/{place.removeprefix(source)}")
                self.made.add(moved)
                self.installed[moved] = its

    def _run(self, told: str, line: int) -> None:
        state = State({**self.variables, "PWD": self.folder, "HOME": self.home}, set(self.variables))

        def read(file: str) -> str | None:
            made, _slash, name = file.rpartition("/bin/")
            if name != "activate":
                return told if file == "\0" else None
            self.made.add(made)
            return f"export VIRTUAL_ENV={made} PATH={made}/bin:$PATH\n"

        around = Surroundings(read, lambda f: "folder" if read(f) is None else "file", lambda _f: ())
        reader = ShellReader(around, state, "bash", follows=True)
        reader.read_files("\0")
        for words, _file, _line, its in reader.commands:
            self._command([w for w in words if w], its, line)

    def _command(self, words: list[str], state: State, line: int) -> None:
        while words and re.match(r"[A-Za-z_]\w*=", words[0]):
            name, _equals, value = words.pop(0).partition("=")
            state.values[name] = value
        if not words:
            return
        name = posixpath.basename(words[0])
        spelt = (" ".join(words[:3]), line)
        if words[1:3] == ["-m", "venv"] or name == "virtualenv" or words[:2] == ["uv", "venv"]:
            bare = [w for w in words[3 if "-m" in words else 2 if name == "uv" else 1 :] if not w.startswith("-")]
            self.made.add(state.place(bare[-1] if bare else ".venv"))
        elif words[1:3] == ["-m", "pip"] or re.fullmatch(r"pip[\d.]*", name):
            rest = words[words.index("install") + 1 :] if "install" in words else []
            place = f"~{self.home}" if "--user" in rest else self.python_of(words[0], state.values["PATH"]) or OWN
            self._install(rest, place, (" ".join([*words[: len(words) - len(rest)]]), line))
        elif words[:3] == ["uv", "pip", "install"]:
            self._install(words[3:], self._of_uv(words, state), spelt)
        elif name in _MANAGERS and words[1:2] and words[1] in _MANAGERS[name]:
            told = state.values.get("UV_PROJECT_ENVIRONMENT", "") if name == "uv" else ""
            place = state.place(told or ".venv")
            own = re.match(r"/usr(?:/local)?$", place) or "--system" in words or "--active" in words
            elsewhere = {"POETRY_VIRTUALENVS_CREATE", "PIPENV_SYSTEM"} & {*state.values} or state.values.get(
                "VIRTUAL_ENV"
            )
            if not own:
                self.made.add(place)
            self.installed[OWN if own or elsewhere else place] = (" ".join(words[:2]), line)
        elif name in _CONDAS and {"create", "install", "update"} & {*words[1:3]}:
            named = next(
                (words[n + 1] for n, w in enumerate(words[:-1]) if w in ("-n", "--name", "-p", "--prefix")), ""
            )
            makes = "create" in words[1:3]
            self.installed[OWN if named == "base" or not (named or makes) else f"conda {named}"] = spelt
        elif (name == "poetry" and "virtualenvs.create" in words) or _CALLS_MORE.fullmatch(
            " ".join([name, *words[1:]])
        ):
            self.unclear = True
        elif name.startswith("apt") and any(w.startswith("python3-") for w in words):
            self.installed[OWN] = spelt

    def _of_uv(self, words: list[str], state: State) -> str:
        """Return the environment that ``uv pip`` installs into (uv's documentation, "Using Python environments")."""
        named = next((words[n + 1] for n, w in enumerate(words[:-1]) if w in ("-p", "--python")), "")
        if "--system" in words or state.values.get("UV_SYSTEM_PYTHON"):
            return OWN
        found = named.partition("/bin/")[0] or state.values.get("VIRTUAL_ENV") or ".venv"
        return its if (its := state.place(found)) in self.made else OWN

    def _install(self, packages: list[str], place: str, told: Told) -> None:
        names = {re.split(r"[\[<>=!~@ ;]", w)[0] for w in packages if not w.startswith("-")}
        if packages and (not names <= _OF_TOOLS or "-r" in packages):
            self.installed[OWN if any(w.startswith(("--target", "--prefix", "-t")) for w in packages) else place] = told


def last_build(instructions: Iterable[tuple[str, str, int]]) -> Build:
    """Return the last stage of a Dockerfile; one that begins with an earlier stage has what that has."""
    stages: dict[str, Build] = {}
    now = Build()
    for word, told, line in instructions:
        if word == "FROM":
            base, _as, name = [*re.sub(r"^(?:--\S+\s+)+", "", told).split(), "", "", ""][:3]
            earlier = stages.get(base)
            now = earlier.copy() if earlier else Build(base=base, bare=bool(BARE.match(base)))
            stages |= {str(len({id(b) for b in stages.values()})): now, name or base: now}
        else:
            now.take(word, told, line, stages)
    return now
