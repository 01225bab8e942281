"""How sure it is which Python a way of starting runs: whether something that reading did not follow may activate another one.

Files are only read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.modulefiles import has_modules
from core.host.startup.state import State
from core.host.startup.syntax import INPUT, SHELL_NAMES, Block, Case, Chain, Function, If, Loop, Node, Simple, parse
from core.probes.starting.commands.command_line import LETS_CONDA_ACTIVATE, StartedFile
from core.probes.starting.commands.dead_activations import called_activation, dead_call
from core.probes.starting.commands.runners import condas_places, environment_of_conda
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

ACTIVATES = late_pattern(
    r"\bactivate\b|\b(?:conda|mamba|micromamba)\s+(?!\s|run\b)|\b(?:module|ml|workon|pyenv|mise|asdf|direnv)\s"
)
"""Words of commands that may lead to another Python in a way that reading did not follow."""
OF_FUNCTIONS = late_pattern(r"\b(?:conda|mamba|micromamba)\s+(?!\s|run\b)|\b(?:module|ml)\s")
"""Of these, commands that may be functions of a shell which a program starts: of conda, or handed on by a cluster's log-in. A program that is
called by its name leaves its caller's variables as they are.
"""
OF_A_PERSONS_SHELL = late_pattern(OF_FUNCTIONS.pattern + r"|\b(?:workon|pyenv|mise|asdf|direnv)\s")
"""Those that may be functions of a shell into which a person sources a script."""
ACTIVATION = late_pattern(
    r"(?:^|[\s;&|('\"])(?:[\"']?([^\s'\"]{0,300})/bin/activate\b|(?:workon|(?:conda|mamba|micromamba)\s+activate)\s+[\"']?([^\s'\";&|)]+)"
    r"|(?:python[\d.]*=(?=\S{0,300}/python)|VIRTUAL_ENV=)[\"']?([^\s'\"]+)|(?:poetry|pipenv|hatch|pixi)\s+shell\b)"
)
RUN_IT = frozenset((
    ".", "source", "conda", "mamba", "micromamba", "workon", "alias", "export", "poetry", "pipenv", "hatch", "pixi", *SHELL_NAMES,
))  # fmt: skip
"""What activates an environment, or means to: its name alone does nothing; no shell of a script reads its aliases, or goes on in the shell of a manager."""
BY_ARGUMENTS = late_pattern(r"\$\{?[@*#1-9]|\bgetopts\b|\bshift\b|\bexpand_aliases\b")
"""What a script does by its arguments, or by aliases."""
OF_SERVERS = ("package.json", "Procfile")
"""Tasks that servers and other programs start, where nobody activates an environment first."""
RUN_BY_CONDA = late_pattern(r"(?i)\b(?:conda|mamba|micromamba)(?:\.bat|\.exe)?[ \t]{1,9}run\b")


def may_lead_elsewhere(found: StartedFile, way: Reached, ground: Ground) -> bool:
    """Whether something on the way may lead to another Python, unseen."""
    if "PATH" in way.state.open or {"PYTHONPATH", "PYTHONHOME"} & way.state.open:
        return True
    paths, windows = ground.where.path_module, ground.where.system == "windows"
    python = "python.exe" if windows else "python"
    followed = {f for f in way.state.files if ground.around.kind(paths.join(paths.dirname(f), python)) == "file"}
    if windows:
        followed = {f for f in followed if paths.basename(f).lower() == "activate.bat"}
    calls = {f.lower().removesuffix(".bat") for f in followed} if windows else set()
    names = [f for f in way.state.files if not posixpath.basename(f).startswith(".") and not f.startswith("/etc/")]
    names = [f for f in names if not f.lower().endswith(".ps1")]  # their reader leaves PATH open where it has to
    # of a unit's files, ``argv`` has what it starts; another command of the unit ends with its shell
    if way.kind == "service":
        names = [f for f in names if not f.endswith((".service", ".conf"))]
    own = f"{way.at.partition(': ')[0]}\0"
    whole = [
        (" ".join(w for w in way.argv if w not in names), own),
        *((_reached(f, found, ground), f) for f in names if f not in followed),
    ]
    for text, file in [(way.text, own)] if way.text else whole:
        head = re.match(r"#!\s*(/\S+)", text)
        by_itself = way.kind != "script" or head is not None
        without_functions = by_itself and file not in way.state.followed.with_functions
        of_functions = OF_FUNCTIONS if without_functions else OF_A_PERSONS_SHELL
        leads = of_functions if way.state.followed.knows(file) else ACTIVATES
        for row in (r for r in text.splitlines() if not r.lstrip().startswith("#")):
            if windows and RUN_BY_CONDA.search(row):
                continue  # followed to its environment
            if dead_call(row, way, ground) or called_activation(row, way, ground).lower().removesuffix(".bat") in calls:
                continue
            left = _without_effect(row, text, by_itself=by_itself, without_conda=found.without_conda)
            if found.without_conda and "m" in left and _is_of_this_machine_without_modules(text, way, ground):
                left = LOADS_MODULES.sub(" ", left)
            if leads.search(left):
                return True
    return False


def _reached(file: str, found: StartedFile, ground: Ground) -> str:
    """Return a file without the lines that a jump leaves out."""
    text = ground.read(file) or ""
    over = {number for its, number in found.passed_over if its == file}
    return "\n".join(row for number, row in enumerate(text.splitlines(), 1) if number not in over) if over else text


CONDA_ACTIVATES = late_pattern(
    r"(?:^|[;&|({'\"])[ \t]{0,40}(?:conda|mamba|micromamba)[ \t]{1,9}(?:de)?activate\b[^;&|]{0,200}"
)


LOADS_MODULES = late_pattern(r"(?:^|[;&|({'\"])[ \t]{0,40}(?:module|ml)[ \t][^;&|]{0,200}")
ASKS_CONDA = late_pattern(r"\b(?:conda|mamba|micromamba)[ \t]{1,9}activate[ \t]{1,9}[\"']?([\w./-]{1,200})")


def _is_of_this_machine_without_modules(text: str, way: Reached, ground: Ground) -> bool:
    """Whether a script asks conda for an environment that is here, and nothing here gives it the command ``module``, which so does nothing.

    A script for another machine, a cluster, names an environment that only that machine has.
    """
    if has_modules(ground.around, {**ground.env, **way.state.values}):
        return False
    if any(LETS_CONDA_ACTIVATE.search(row) for row in text.splitlines()):
        return False
    roots = condas_places(ground)
    return any(environment_of_conda(found[1], way.state, ground, roots) for found in ASKS_CONDA.finditer(text))


def _without_effect(row: str, text: str, *, by_itself: bool, without_conda: bool = False) -> str:
    """Return a line without ``conda activate``, where its shell does not have conda's function.

    ``by_itself``: no person's shell runs the line. ``without_conda``: the script was followed, and nothing defined
    the function.
    """
    lets = not without_conda and any(LETS_CONDA_ACTIVATE.search(r) for r in text.splitlines())
    return CONDA_ACTIVATES.sub(" ", row) if by_itself and not lets and ("conda" in row or "mamba" in row) else row


def is_same_everywhere(found: StartedFile, way: Reached, ground: Ground) -> bool:
    """Whether the same Python runs wherever the way is started: it is named by its path, or found without this session's PATH, or in an
    activated environment's despite.
    """
    if (
        not found.by_name
        or way.kind not in ("task", "script")
        or way.state.values.get("PATH") != ground.env.get("PATH")
    ):
        return True
    if ground.env.get("VIRTUAL_ENV") or ground.env.get("CONDA_PREFIX"):
        return True
    if means_to_activate(way, ground):
        return True  # by itself, which has no effect
    leads = any(ground.around.kind(f"{ground.folder}/{n}") == "file" for n in (".envrc", ".mise.toml", "mise.toml"))
    return not leads and posixpath.basename(way.at.partition(": ")[0]) in OF_SERVERS


def means_to_activate(way: Reached, ground: Ground) -> bool:
    """Whether a script or a task has an activation of its own, whose run does not depend on the arguments that it gets."""
    texts = ["\n".join(own_rows(way, ground)), *_scripts(way, ground)]
    if ground.where.system == "windows":
        return any(ACTIVATES.search(text) for text in texts)
    return any(_activates(parse(text) or [], ground) and not BY_ARGUMENTS.search(text) for text in texts)


def _activates(nodes: Iterable[Node], ground: Ground) -> bool:
    """Whether a command of a script, wherever it stands, activates an environment that this machine has, or the project."""
    for node in nodes:
        inner: list[Iterable[Node]] = []
        match node:
            case Simple(words=words):
                shells = [w.text for w in words if w.text in SHELL_NAMES and words[0].text not in ("echo", "printf")]
                first = next(iter(shells), words[0].text)
                given = (w.text for w in words if first not in ("cat", "tee"))
                inner = [parse(text[1:].strip('"')) or [] for text in given if text.startswith(INPUT)]
                told = ACTIVATION.search(" ".join(w.text for w in words if not w.text.startswith(INPUT)))
                if (
                    told
                    and (first in RUN_IT or "$(" in first or first.endswith("/activate"))
                    and _is_here(told[1] or told[3], told[2], ground)
                ):
                    return True
            case If(arms=arms) | Case(arms=arms):
                inner = [body for _test, body in arms]
            case Chain(parts=parts):
                inner = [[part for _operator, part in parts]]
            case Loop(body=body) | Function(body=body) | Block(body=body):
                inner = [body]
        if any(_activates(each, ground) for each in inner):
            return True
    return False


def _is_here(place: str | None, name: str | None, ground: Ground) -> bool:
    """Whether an activation can mean an environment of this machine, by its folder or its name; a relative folder, one of the project."""
    prefixes = [p.prefix for p in ground.pythons]
    told = place or name or ""
    if "$" in told or (name and environment_of_conda(name, State(dict(ground.env)), ground, condas_places(ground))):
        return True
    place = ground.where.join(ground.folder, told) if not name else told
    if not told.startswith("/") and not name and any(p.startswith(f"{ground.folder}/") for p in prefixes):
        return True
    places, folders = (place, ground.where.real_path(place)), {*prefixes, *map(ground.where.real_path, prefixes)}
    return any(told == posixpath.basename(f) or f"{p}/".startswith(f"{f}/") for p in places for f in folders)


def is_double_clicked(way: Reached, ground: Ground) -> bool:
    """Whether a batch file of the folder is started from Explorer, as far as can be seen: nobody activates an environment first. One of
    PowerShell is not: Explorer opens it in an editor, and a person may have activated an environment in the prompt.
    """
    by_explorer = way.kind == "script" and not way.at.lower().endswith(".ps1")
    return ground.where.system == "windows" and by_explorer and no_environment_is_active(ground)


def own_rows(way: Reached, ground: Ground) -> Iterator[str]:
    """Yield the lines of a script, or what a task runs before, each in a shell of its own."""
    if way.kind == "script":
        yield from (ground.read(way.at) or "").splitlines()
    elif way.text:
        yield from (*way.before, way.text)


def _scripts(way: Reached, ground: Ground) -> Iterator[str]:
    """Yield the texts of the scripts that a task comes through."""
    for file in way.state.files:
        text = ground.read(file) if file.endswith(".sh") and not file.startswith("/etc/") else None
        yield text or ""


def no_environment_is_active(ground: Ground) -> bool:
    """Whether neither this session nor the folder of the program shows an environment that somebody activates first."""
    if ground.env.get("VIRTUAL_ENV") or ground.env.get("CONDA_PREFIX"):
        return False
    join, folder = ground.where.join, ground.folder
    return not any(ground.where.is_file(join(folder, n, "pyvenv.cfg")) for n in ground.around.names(folder))
