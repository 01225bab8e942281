"""How sure it is which Python a way of starting runs: whether something that reading did not follow may activate another one.

Files are only read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.modulefiles import has_modules
from core.probes.starting.commands.command_line import LETS_CONDA_ACTIVATE, StartedFile, language
from core.probes.starting.commands.dead_activations import called_activation, dead_call
from core.probes.starting.commands.runners import condas_places, environment_of_conda
from core.probes.starting.machine import Ground
from core.probes.starting.shells import family
from core.probes.starting.ways import Reached

ACTIVATES = late_pattern(
    r"\bactivate\b|\b(?:conda|mamba|micromamba)\s+(?!\s|run\b)|\b(?:module|ml|workon|pyenv|mise|asdf|direnv)\s"
)
"""Words of commands that may lead to another Python in a way that reading did not follow."""
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
    whole = [(" ".join(way.argv), way.shell), *((_reached(f, found, ground), "") for f in names if f not in followed)]
    by_shell = language(way.argv[0], ground) if way.argv and family(way.argv[0]) else ""
    for text, shell in [(way.text, way.shell)] if way.text else whole:
        head = re.match(r"#!\s*(/\S+)", text)
        spoken = shell or by_shell or (language(head[1], ground) if head else "")
        for row in (r for r in text.splitlines() if not r.lstrip().startswith("#")):
            if windows and RUN_BY_CONDA.search(row):
                continue  # followed to its environment
            if dead_call(row, way, ground) or called_activation(row, way, ground).lower().removesuffix(".bat") in calls:
                continue
            by_itself = way.kind != "script" or head is not None
            left = _without_effect(row, text, spoken, by_itself=by_itself, without_conda=found.without_conda)
            if found.without_conda and "m" in left and _is_of_this_machine_without_modules(text, way, ground):
                left = LOADS_MODULES.sub(" ", left)
            if ACTIVATES.search(_without_followed(left, followed)):
                return True
    return False


def _reached(file: str, found: StartedFile, ground: Ground) -> str:
    """Return a file without the lines that a jump leaves out."""
    text = ground.read(file) or ""
    over = {number for its, number in found.passed_over if its == file}
    return "\n".join(row for number, row in enumerate(text.splitlines(), 1) if number not in over) if over else text


SOURCES = late_pattern(r"(?:^|(?<=[;&|({'\"]))[ \t]{0,40}source[ \t]{1,9}[^\s;&|]{1,400}")
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


def _without_effect(row: str, text: str, shell: str, *, by_itself: bool, without_conda: bool = False) -> str:
    """Return a line without the commands that do nothing in its shell.

    These are ``source`` in dash, and ``conda activate`` where the shell does not have conda's function.
    ``by_itself``: no person's shell runs the line. ``without_conda``: the script was followed, and nothing defined
    the function.
    """
    if shell == "dash":
        row = SOURCES.sub(" ", row)
    if "conda" in row or "mamba" in row:
        lets = not without_conda and any(LETS_CONDA_ACTIVATE.search(r) for r in text.splitlines())
        given = not by_itself or lets
        row = row if given else CONDA_ACTIVATES.sub(" ", row)
    return row


SOURCED = late_pattern(r"(?:^|(?<=[;&|({]))\s*(?:\.|source)\s+([^\s;&|]+)")


def _without_followed(row: str, followed: Collection[str]) -> str:
    """Return a line without the activations of environments that reading followed: PATH shows to which Python those led."""

    def put(found: re.Match[str]) -> str:
        end = found[1].strip("\"'").rpartition("$")[2].partition("/")[2]
        return "" if end and any(f.endswith(f"/{end}") for f in followed) else found[0]

    return SOURCED.sub(put, row)


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
    if any(ACTIVATES.search(row) for row in (*own_rows(way, ground), *_rows_of_scripts(way, ground))):
        return True  # it means to activate an environment by itself, which has no effect
    leads = any(ground.around.kind(f"{ground.folder}/{n}") == "file" for n in (".envrc", ".mise.toml", "mise.toml"))
    return not leads and posixpath.basename(way.at.partition(": ")[0]) in OF_SERVERS


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


def _rows_of_scripts(way: Reached, ground: Ground) -> Iterator[str]:
    """Yield the lines of the scripts that a task comes through."""
    for file in way.state.files:
        text = ground.read(file) if file.endswith(".sh") and not file.startswith("/etc/") else None
        yield from (text or "").splitlines()


def no_environment_is_active(ground: Ground) -> bool:
    """Whether neither this session nor the folder of the program shows an environment that somebody activates first."""
    if ground.env.get("VIRTUAL_ENV") or ground.env.get("CONDA_PREFIX"):
        return False
    join, folder = ground.where.join, ground.folder
    return not any(ground.where.is_file(join(folder, n, "pyvenv.cfg")) for n in ground.around.names(folder))
