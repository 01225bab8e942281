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
    name = ntpath.basename(words[0])
    env = {n.upper(): v for n, v in variables.items()}
    if _ACTIVATE.fullmatch(name):
        rest = [w for w in words[1:] if not w.startswith("-")]
    elif _CONDA.fullmatch(name) and words[1:2] == ["activate"]:
        rest = [w for w in words[2:] if not w.startswith("-")]
    else:
        return ""
    path = find_named(words[0], {"PATH": env.get("PATH", "")}, ground.where, here)
    bases = list(dict.fromkeys(_bases(path, env)))
    asked = rest[0] if rest else ""
    if ntpath.isabs(asked) or "\\" in asked or "/" in asked:
        places = [ntpath.normpath(ntpath.join(here, asked))]
    elif asked in ("", "base"):
        places = bases
    else:
        listed = (ground.read(ntpath.join(env.get("USERPROFILE", ""), ".conda", "environments.txt")) or "").splitlines()
        places = [ntpath.join(b, "envs", asked) for b in bases]
        places += [p.strip() for p in listed if ntpath.basename(p.strip().rstrip("\\")).lower() == asked.lower()]
    return next((p for p in places if _is_conda(p, ground)), "")


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
