r"""Which conda environment a line of a batch file activates: ``call C:\...\Scripts\activate.bat NAME``, ``conda activate NAME``.

conda's own batch files start its Python, which writes what they then run; so they are known by name, and not followed.
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Iterator, Mapping, Sequence

from core.probes.programs.follow import find_named
from core.probes.starting.machine import Ground

_CONDA = re.compile(r"(?:conda|mamba|micromamba)(?:\.bat|\.exe)?", re.IGNORECASE)
_ACTIVATE = re.compile(r"activate(?:\.bat)?", re.IGNORECASE)

ON_ACTIVATION = (
    "", "Library\\mingw-w64\\bin", "Library\\usr\\bin", "Library\\bin", "Scripts", "bin",
)  # fmt: skip
"""What activation puts before PATH (conda/activate.py, ``_get_path_dirs``)."""


def activated_prefix(words: Sequence[str], variables: Mapping[str, str], here: str, ground: Ground) -> str:
    """Return the folder of the environment that a command activates; empty for any other command, and where it is not there."""
    path, asked = _asked(words, variables, here, ground)
    if asked is None:
        return ""
    return next((p for p in _places(path, asked, variables, here, ground) if _is_conda(p, ground)), "")


_RUN_OPTION = re.compile(r"(-n|--name|-p|--prefix|--cwd)(=.*)?", re.IGNORECASE)


def run_by_conda(words: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return the environment that ``conda run`` is told, as a list of at most one, and the command behind the options; None for any other
    command.
    """
    if not words or not _CONDA.fullmatch(ntpath.basename(words[0])) or list(words[1:2]) != ["run"]:
        return None
    rest, named = list(words[2:]), list[str]()
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if its := _RUN_OPTION.fullmatch(option):
            value = its[2][1:] if its[2] else rest.pop(0) if rest else ""
            named = [value] if its[1].lower() != "--cwd" else named
    return (named, rest) if rest else None


def activates_nothing(words: Sequence[str], variables: Mapping[str, str], here: str, ground: Ground) -> bool:
    """Whether a command activates nothing, and the batch file goes on: conda is not in PATH, is its bare program, or has no such environment."""
    path, asked = _asked(words, variables, here, ground)
    refused = is_not_found(words, variables, here, ground) or (asked is not None and _refuses(path, variables))
    return refused or asks_in_vain(words, variables, here, ground)


def asks_in_vain(words: Sequence[str], variables: Mapping[str, str], here: str, ground: Ground) -> bool:
    """Whether an environment is asked for that none of conda's folders has; known only where nothing adds a folder of environments."""
    path, asked = _asked(words, variables, here, ground)
    env = {n.upper(): v for n, v in variables.items()}
    bases = [b for b in _bases(path, env) if _is_conda(b, ground)]
    settings = [ntpath.join(f, ".condarc") for f in (env.get("USERPROFILE", ""), *bases) if f]
    elsewhere = any("envs_dirs" in (ground.read(f) or "") for f in settings)
    elsewhere = elsewhere or any(env.get(n) for n in ("CONDA_ENVS_PATH", "CONDA_ENVS_DIRS", "CONDARC"))
    if not asked or "%" in asked or not bases or elsewhere:
        return False
    return not any(ground.where.exists(p) for p in _places(path, asked, variables, here, ground))


def _refuses(path: str, variables: Mapping[str, str]) -> bool:
    """Whether ``activate`` is asked of conda's bare program, whose prompt nobody set up: "Run 'conda init' before 'conda activate'" (conda/cli/main.py)."""
    env = {n.upper(): v for n, v in variables.items()}
    return path.lower().endswith(".exe") and not any(_bases("", env))


def hooked_program(words: Sequence[str], variables: Mapping[str, str], here: str, ground: Ground) -> str:
    """Return conda's program, which its ``conda_hook.bat`` lets a prompt find; empty for any other command.

    Source: condabin/conda_hook.bat of conda 24, which works with ``for`` and so is not followed.
    """
    if not words or ntpath.basename(words[0]).lower() != "conda_hook.bat":
        return ""
    path = find_named(words[0], variables, ground.where, here)
    return ntpath.join(ntpath.dirname(path), "conda.bat") if path else ""


def is_not_found(words: Sequence[str], variables: Mapping[str, str], here: str, ground: Ground) -> bool:
    """Whether a command asks conda by its name, which leads to no program; in a prompt of conda's, or behind an activation, it is one."""
    path, asked = _asked(words, variables, here, ground)
    by_name = asked is not None and _CONDA.fullmatch(words[0])
    env = {n.upper(): v for n, v in variables.items()}
    return bool(by_name) and not path and not env.get("CONDA_PREFIX") and not any(_bases("", env))


def _asked(words: Sequence[str], variables: Mapping[str, str], here: str, ground: Ground) -> tuple[str, str | None]:
    """Return conda's program, and the environment that a command activates; None for any other command."""
    name = ntpath.basename(words[0]) if words else ""
    if _ACTIVATE.fullmatch(name):
        rest = [w for w in words[1:] if not w.startswith("-")]
    elif _CONDA.fullmatch(name) and list(words[1:2]) == ["activate"]:
        rest = [w for w in words[2:] if not w.startswith("-")]
    else:
        return "", None
    path = find_named(words[0], variables, ground.where, here)
    return path, rest[0] if rest else ""


def _places(path: str, asked: str, variables: Mapping[str, str], here: str, ground: Ground) -> list[str]:
    """Return the folders that an environment of this name may be in."""
    env = {n.upper(): v for n, v in variables.items()}
    bases = list(dict.fromkeys(_bases(path, env)))
    if ntpath.isabs(asked) or "\\" in asked or "/" in asked:
        return [ntpath.normpath(ntpath.join(here, asked))]
    if asked in ("", "base"):
        return bases
    listed = (ground.read(ntpath.join(env.get("USERPROFILE", ""), ".conda", "environments.txt")) or "").splitlines()
    places = [ntpath.join(b, "envs", asked) for b in bases]
    return places + [p.strip() for p in listed if ntpath.basename(p.strip().rstrip("\\")).lower() == asked.lower()]


def _bases(path: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield where the installation may be: two folders above its program, else as variables say."""
    if path:
        yield ntpath.dirname(ntpath.dirname(path))
    for name in ("CONDA_EXE", "MAMBA_EXE"):
        if env.get(name):
            yield ntpath.dirname(ntpath.dirname(env[name]))
    if env.get("MAMBA_ROOT_PREFIX"):
        yield env["MAMBA_ROOT_PREFIX"]


def _is_conda(folder: str, ground: Ground) -> bool:
    return bool(folder) and ground.around.kind(ntpath.join(folder, "conda-meta")) == "folder"
