"""Programs that data files describe: a command or an interpreter, with a mapping of variables beside it or above it.

A file counts if one of its texts leads to an environment that was examined: it names the environment's folder, or the
program that finally runs is the environment's Python. There is no list of programs that read such files, because they
name their mappings of variables and their folders much alike. What starts in a container does not use an environment
of this machine.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.described import Described, described
from core.host.startup.plain import read_dotenv
from core.host.startup.state import UNKNOWN, State, fill
from core.model.facts import StartKind
from core.probes.starting.commands.command_line import Line, StartedFile, python_of_text
from core.probes.starting.commands.containers import OF_A_ROOT
from core.probes.starting.commands.started_code import own_prefix, program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.projects.server_steps import activates_here, server_steps
from core.probes.starting.services.systemd import MACHINES_PATH
from core.probes.starting.ways import Reached

OF_VARIABLES = frozenset((
    "env", "envs", "environ", "environment", "env_vars", "envvars", "env_variables", "environment_variables", "extra_env", "process_environment",
    "set_env", "setenv", "env_set", "variables", "exports", "terminal_env", "additional_env", "environmentvariables",
))  # fmt: skip
"""What a mapping of variables is called, in small letters with "_"."""
OF_FILES = frozenset(("env_file", "envfile", "env_files", "dotenv", "dotenv_file", "environment_file", "env_path"))
OF_FOLDERS = frozenset((
    "cwd", "dir", "directory", "working_dir", "working_directory", "workdir", "wdir", "chdir", "start_directory", "working_folder", "root",
))  # fmt: skip
OF_ARGUMENTS = frozenset(("args", "arguments", "argv"))
OF_WORDS = frozenset(
    ("description", "desc", "comment", "help", "hint", "label", "title", "tooltip", "usage", "example", "message")
)
"""What a person reads."""
OF_CONTAINERS = frozenset(
    ("image", "docker", "dockerfile", "container", "containers", "container_image", "singularity", "apptainer")
)
"""A mapping with one of these describes what runs in a root of its own."""
ENDINGS = (".yml", ".yaml", ".toml", ".json", ".ini", ".cfg", ".conf")
READ_ELSEWHERE = late_pattern(
    r"package(?:-lock)?\.json|pyproject\.toml|pixi\.toml|\.?mise\b.*|[Tt]askfile\..*|dvc\.(?:yaml|lock)"
    r"|tox\.ini|\.?pytest\.ini|setup\.cfg|supervisord\.conf|ecosystem\b.*|pm2\..*|invoke\..*|pyvenv\.cfg|environment\.ya?ml|.*\.lock|.*-lock\..*"
)
"""Files whose own reader knows more of them, or that start nothing."""
COMPOSE = late_pattern(r"(?:docker-)?compose\b.*\.ya?ml")
"""Docker Compose's files: what starts in a container uses an environment of this machine only if its folder is mounted there by the same
name. Of its variables those of the loader and of Python's search are left out: they name folders in the container.
"""
_SCRIPT = late_pattern(r"(?:^|[\s'\"=])([\w./~-]+\.(?:sh|bash))(?=[\s'\";&|,\]]|$)", re.MULTILINE)
BELOW = (
    "",
    "config",
    "conf",
    "configs",
    "deploy",
    "deployment",
    "etc",
    "ops",
    ".zed",
    ".fleet",
    ".config",
    ".circus",
    "services",
    ".github/workflows",
    ".gitea/workflows",
    ".forgejo/workflows",
    ".circleci",
    ".woodpecker",
    ".buildkite",
)
"""Folders of a project."""
OF_SERVERS = late_pattern(
    r".*/\.(?:github|gitea|forgejo|circleci|woodpecker|buildkite)/.*|.*/(?:azure-pipelines|\.woodpecker|\.drone|\.travis|\.cirrus)\b[^/]*"
)
"""Jobs of servers: most run on another machine. One counts if it names an environment of this machine by its whole path, or activates one
of the project's folder.
"""
_AS_IT_STANDS = late_pattern(r".*/\.(?:github|gitea|forgejo|circleci)/.*")
"""Files whose variables are given as they stand (GitHub's "Workflow syntax", ``env``; CircleCI's "Set an environment variable")."""
OF_MACHINE = (
    "/etc/circus",
    "/etc/circus/conf.d",
    "/etc/uwsgi/apps-enabled",
    "/etc/uwsgi/vassals",
    "/etc/uwsgi-emperor/vassals",
)
HIDDEN = (
    ".gitlab-ci.yml",
    ".woodpecker.yml",
    ".drone.yml",
    ".travis.yml",
    ".cirrus.yml",
    ".tmuxp.yaml",
    ".tmuxp.yml",
    ".tmuxp.json",
    ".tmuxinator.yml",
    ".pre-commit-config.yaml",
    ".mprocs.yaml",
)
MOST_FILES = 40
"""Maximum number of files read in one folder."""
MOST_BYTES = 1 << 17
MOST_PROGRAMS = 40
"""Maximum number of programs followed in one file."""
_NAME = late_pattern(r"[A-Za-z_]\w*")
_FOLDER = (
    r"\$\{(?:workspaceFolder|workspaceRoot|project_path|folder)\}|\$(?:project_path|folder|file_path)\b|\$ZED_WORKTREE_ROOT\b|\$\(circus\.wd\)|\$CI_PROJECT_DIR\b|\$\{CI_PROJECT_DIR\}"
    r"|\$\{\{ *github\.workspace *\}\}|\$GITHUB_WORKSPACE\b|\$\((?:Build\.SourcesDirectory|System\.DefaultWorkingDirectory)\)"
)
"""What stands for the project's folder in the files of editors and servers."""
_PAIR = late_pattern(r"([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^,\s\"']*)(?:[,;\s]+|$)")
_RUNS = late_pattern(r"\b(?:uv|poetry|pdm|pixi|conda|mamba|micromamba|hatch|pipenv|rye)[\"', ]+run\b")
_STARTS_PYTHON = late_pattern(
    r"(?:^|[\s'\"=;&|(/])(?:python[\d.]*|torchrun|accelerate|deepspeed|uv|poetry|pdm|pixi|conda|mamba|micromamba|hatch|pipenv|rye)(?=[\s'\";&|)]|$)"
)

_STARTS_PROGRAM = late_pattern(r"/python[\d.]*[\"', ]+(?:-\w+[\"', ]+)*[\w./-]+\.py\b")


def described_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the programs that files of the working folder and of the machine describe, and that are an environment's."""
    own = tuple(p for p in ground.pythons if p.kind in ("venv", "conda"))
    if not own:
        return
    ground = replace(ground, pythons=own)
    here = ground.session()
    here.values["PWD"] = ground.folder
    machine = State({"PATH": MACHINES_PATH, "PWD": "/"}, {"PATH"})
    near = [posixpath.join(ground.folder, n) for n in BELOW] if ground.is_in_project else []
    rows: tuple[tuple[list[str], StartKind, State], ...] = (
        (near, "task", here),
        (list(OF_MACHINE), "service", machine),
    )
    for folders, kind, state in rows:
        for folder in folders:
            for path in _files(folder, ground):
                text = ground.where.text(path, MOST_BYTES + 1)
                its_own = text is not None and len(text) <= MOST_BYTES and "[program:" not in text  # else Supervisor's
                if text is not None and its_own and _may_name(text, path, ground):
                    yield from programs_described(path, text, kind, state, ground)


def _files(folder: str, ground: Ground) -> list[str]:
    named = [n for n in ground.around.names(folder) if n.endswith(ENDINGS) and not READ_ELSEWHERE.fullmatch(n)]
    return [posixpath.join(folder, n) for n in named if n in HIDDEN or not n.startswith(".")][:MOST_FILES]


def _may_name(text: str, path: str, ground: Ground) -> bool:
    """Whether a text names an environment's folder (as it is, from the home, or from the project's or the file's own folder), or a program
    that finds one.
    """
    if OF_SERVERS.fullmatch(path):
        homes = [p.prefix.removeprefix(ground.person.home.rstrip("/")) for p in ground.pythons]
        names = (
            *(p.prefix for p in ground.pythons),
            *(f"{h}{own}" for own in homes for h in ("~", "$HOME", "${HOME}")),
        )
        return any(f"{name}/" in text for name in names) or activates_here(text, path, ground)
    above = (ground.folder, ground.person.home, posixpath.dirname(path))
    if (
        activates_here(text, path, ground)
        or _RUNS.search(text)
        or (_STARTS_PROGRAM.search(text) and ground.is_in_project)
        or any(_leads_to_a_script(n, above, ground) for n in _SCRIPT.findall(text)[:MOST_PROGRAMS])
    ):
        return True
    if ground.env.get("VIRTUAL_ENV") in {p.prefix for p in ground.pythons} and _STARTS_PYTHON.search(text):
        return True
    for python in ground.pythons:
        if python.prefix in text:
            return True
        for folder in above:
            inner = python.prefix.removeprefix(folder.rstrip("/") + "/")
            if inner != python.prefix and f"{inner}/bin/" in text:
                return True
    return False


def _leads_to_a_script(name: str, above: tuple[str, ...], ground: Ground) -> bool:
    bare = _at_home(name, ground)
    return any(ground.around.kind(posixpath.normpath(posixpath.join(folder, bare))) == "file" for folder in above)


def programs_described(path: str, text: str, kind: StartKind, start: State, ground: Ground) -> Iterator[Reached]:
    """Yield the programs that a file describes; ``start``: the variables and the folder with which its reader starts them."""
    whole = described(text, path)
    if not isinstance(whole, dict | list):
        return
    yield from server_steps(path, text, whole, ground)  # of two ways with one name, the first counts
    state = start.copy()
    state.files = [path]
    reader = _Reader(path, text, ground)
    for name, its, prefix, found in reader.programs(whole, "", state):
        reader.count += 1
        if reader.count > MOST_PROGRAMS:
            return
        way = Reached(kind=kind, at=f"{path}: {name}" if name else path, state=its, prefix=prefix)
        for one in program_ways(found, way, ground) if found else [way]:
            runs = tuple(r for r in one.runs if r.sure)
            if one.prefix or runs:
                yield replace(one, runs=runs)


_QUOTED = late_pattern(r"\"[^\"]*\"|'[^']*'")
"""A value with its quotation marks."""


class _Reader:
    """One file: its text tells the lines."""

    def __init__(self, path: str, text: str, ground: Ground) -> None:
        self.path, self.text, self.ground = path, text, ground
        self.count = 0
        self.compose = bool(COMPOSE.fullmatch(posixpath.basename(path)))

    def programs(
        self, node: Described, name: str, above: State
    ) -> Iterator[tuple[str, State, str, StartedFile | None]]:
        """Yield name, variables and environment of each program in a part of the file, and what it starts."""
        if isinstance(node, list):
            for each in node:
                called = next(
                    (v for k in ("name", "label") if isinstance(each, dict) and isinstance(v := each.get(k), str)), ""
                )
                yield from self.programs(each, called or name, above)
        if not isinstance(node, dict) or (self._is_contained(node) and not (self._mounts(node) or self._names(node))):
            return
        state = self._state_of_members(node, above)
        seen: dict[str, tuple[State, StartedFile | None]] = {}
        for command in _commands(node):
            its = state.apart()
            prefix, found = self._environment(command, its)
            if prefix or (found and found.prefix):
                seen.setdefault(prefix, (its, found))
        for prefix, (its, found) in seen.items():
            yield name, its, prefix, found
        for key, inner in node.items():
            if (
                _plain(key) not in (*OF_VARIABLES, "volumes")
                and isinstance(inner, dict | list)
                and not _is_command(inner)
            ):
                yield from self.programs(inner, f"{name}.{key}" if name else key, state)

    def _is_contained(self, node: dict[str, Described]) -> bool:
        """Whether a mapping describes what runs in a container."""
        return any(_plain(k) in OF_CONTAINERS or (self.compose and k in ("command", "entrypoint")) for k in node)

    def _mounts(self, node: dict[str, Described]) -> bool:
        """Whether a folder with an environment of this machine has the same name in the container."""
        rows = node.get("volumes")
        for row in rows if isinstance(rows, list) else ():
            named = row if isinstance(row, dict) else dict(zip(("source", "target"), str(row).split(":"), strict=False))
            source = named.get("source")
            if not isinstance(source, str) or not source.startswith("/") or source != named.get("target"):
                continue
            if any(f"{p.prefix}/".startswith(f"{source.rstrip('/')}/") for p in self.ground.pythons):
                return True
        return False

    def _names(self, node: dict[str, Described]) -> bool:
        """Whether a service of Compose runs the Python of an environment that has the same path here: what the image brings does not show,
        but quotation marks that reach the program are wrong in any.
        """
        given = node.get("environment")
        quoted = any(_QUOTED.fullmatch(v) for _n, v in _pairs(given, whole=True)) if isinstance(given, list) else False
        command = node.get("command") if self.compose and quoted else None
        words = command if isinstance(command, list) else str(command or "").split()
        return any(str(words[0]).startswith(f"{p.prefix}/bin/python") for p in self.ground.pythons) if words else False

    def _environment(self, command: str, state: State) -> tuple[str, StartedFile | None]:
        """Return the environment that a text leads to: it is the folder itself, or the Python that runs is in it."""
        bare = _at_home(command.strip(), self.ground)
        place = state.place(bare) if bare else ""
        named = next((p.prefix for p in self.ground.pythons if place == p.prefix), "")
        if named or not ("/" in bare or _STARTS_PYTHON.search(bare) or _SCRIPT.search(bare)):
            return named, None
        found = python_of_text(bare, Line(self.path, self._line(command.partition("\n")[0][:40])), state, self.ground)
        return own_prefix(found, self.ground.pythons) if found is not None else "", found

    def _state_of_members(self, node: dict[str, Described], above: State) -> State:  # noqa: PLR0912 - one case per kind of member
        """Return the variables that the members of a mapping give its programs."""
        state = above.apart()
        if isinstance(searched := node.get("path"), str) and "$PATH" in searched:  # of Sublime Text's build systems
            state.values["PATH"] = searched.replace("$PATH", state.values.get("PATH", ""))
        for key, its in node.items():
            if _plain(key) in OF_FOLDERS and isinstance(its, str) and its:
                place = _at_home(its, self.ground)
                state.values["PWD"] = state.place(place)
        for key, its in node.items():
            if _plain(key) in OF_FILES:
                for each in [its] if isinstance(its, str) else its if isinstance(its, list) else []:
                    place = posixpath.join(
                        state.values.get("PWD", "/"), _at_home(each, self.ground) if isinstance(each, str) else ""
                    )
                    if (text := self.ground.read(place)) is not None:
                        read_dotenv(text, place, state)
                    elif isinstance(each, str) and self.ground.around.kind(place) == "missing":
                        state.miss(place, self.path, self._line(key), ends=self.compose)
        for key, its in node.items():
            if _plain(key) in OF_VARIABLES:
                for name, value in _pairs(its, whole=self.compose and isinstance(its, list)):
                    if name.startswith(OF_A_ROOT) and self._is_contained(node):
                        continue
                    if self._is_contained(node) and not self._mounts(node) and not _QUOTED.fullmatch(value):
                        continue
                    # no cure edits such a file
                    state.export_variable(
                        name, self._filled(value, state), self.path, self._line(name, value), "python"
                    )
        return state

    def _filled(self, value: str, state: State) -> str:
        """Return a variable's value as its program gets it: what servers of GitHub's kind and CircleCI give, no shell has read."""
        if _AS_IT_STANDS.fullmatch(self.path):
            told = re.sub(r"\$\{\{ *github\.workspace *\}\}", lambda _m: self.ground.folder, value)
            return re.sub(r"\$\{\{.*?\}\}", UNKNOWN, told)
        filled = fill(r"\$\{?(\w+)\}?", lambda m: state.values.get(m[1], ""), _at_home(value, self.ground))
        return _at_home(filled, self.ground)

    def _line(self, name: str, value: str = "") -> int:
        """Return the line that has a name, with the start of its value where one has both; 1 if none has."""
        start = re.escape(value.partition("\n")[0][:24])
        for pattern in (
            rf"(?<![\w.-]){re.escape(name)}[\"']?\s*[:=]\s*[\"']?{start}",
            rf"(?<![\w.-]){re.escape(name)}",
        ):
            if name and (found := re.search(pattern, self.text)):
                return self.text.count("\n", 0, found.start()) + 1
        return 1


def _plain(key: str) -> str:
    return re.sub(r"[-. ]", "_", key).lower()


def _at_home(text: str, ground: Ground) -> str:
    told = re.sub(r"(?:^|(?<=[\s=:]))~(?=/)|\$HOME\b|\$\{HOME\}", lambda _m: ground.person.home, text)
    return re.sub(_FOLDER, lambda _m: ground.folder, told)


def _is_command(node: Described) -> bool:
    """Whether a list is the words of one command."""
    return isinstance(node, list) and bool(node) and all(isinstance(w, str) for w in node) and " " not in str(node[0])


def _commands(node: dict[str, Described]) -> Iterator[str]:
    """Yield the texts of a mapping that may be commands: each member by itself, with the arguments that stand beside it."""
    given = next((v for k, v in node.items() if _plain(k) in OF_ARGUMENTS), "")
    arguments = (
        shlex.join(str(w) for w in given) if isinstance(given, list) else given if isinstance(given, str) else ""
    )
    left_out = OF_VARIABLES | OF_FILES | OF_FOLDERS | OF_ARGUMENTS | OF_WORDS
    if isinstance(given, list) and not any(isinstance(v, str) and _plain(k) not in left_out for k, v in node.items()):
        yield arguments
    for key, its in node.items():
        if _plain(key) in left_out:
            continue
        if isinstance(its, str) and its:
            yield f"{its} {arguments}" if arguments and "\n" not in its else its
        elif isinstance(its, list) and _is_command(its):
            yield shlex.join(str(w) for w in its)
            yield from (str(w) for w in its)
        elif isinstance(its, list):
            texts = [w for w in its if isinstance(w, str)]
            yield "\n".join(texts)
            yield from texts


def _pairs_of_line(line: str) -> list[tuple[str, str]]:
    """Return the variables of a line that has nothing else."""
    pairs, at = [], 0
    while found := _PAIR.match(line, at):
        pairs.append((found[1], found[2].strip("\"'")))
        at = found.end()
    return pairs if at == len(line) else []


def _pairs(node: Described, *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the variables of a mapping, of a list ("A=b", or name and value), or of a text ("A=b,C=d").

    ``whole``: an entry of a list is one variable with all that stands behind the equals sign, quotation marks, too (Compose).
    """
    if isinstance(node, dict):
        yield from ((n, v) for n, v in node.items() if isinstance(v, str) and _NAME.fullmatch(n))
    elif isinstance(node, list):
        for each in node:
            if (
                isinstance(each, dict)
                and isinstance(name := each.get("name"), str)
                and isinstance(value := each.get("value"), str)
            ):
                yield name, value
            elif whole and isinstance(each, str):
                name, equals, value = each.partition("=")
                if equals and _NAME.fullmatch(name):
                    yield name, value
            elif isinstance(each, str | dict):
                yield from _pairs(each)
    else:
        for line in node.splitlines():
            pairs = _pairs_of_line(line)
            if len(pairs) > 1:
                yield from pairs
            elif row := re.match(r"([A-Za-z_]\w*)=(.*)$", line.strip()):
                yield row[1], row[2].strip("\"'")
