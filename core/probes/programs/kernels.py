"""Notebooks, and the kernel that Jupyter runs each one with. Nothing is run.

Sources: nbformat's documentation, "The Notebook file format"; jupyter_core's, "Common Directories and File Locations"; jupyter_client's,
"Making kernels for Jupyter".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

import msgspec

from core.common.late_pattern import late_pattern
from core.common.variable_names import variable_in
from core.probes.sysroot import Sysroot

NATIVE = ("python", "python3")
"""Names that stand for the kernel of Jupyter's own Python where no kernelspec has them."""
SERVERS = ("jupyter", "jupyter-lab", "jupyter-notebook")
"""Programs that start Jupyter; ipykernel alone brings the first, which starts nothing then."""
MOST_NOTEBOOK = 32 << 20
"""Maximum number of bytes read of a notebook; pictures are kept in it."""
MOST_SPEC = 1 << 16


class Notebook(msgspec.Struct, frozen=True):
    """A notebook for Python."""

    kernel: str
    """The kernel's name, as the notebook has it; "python3" where it has none."""
    code: str
    """Its cells of code in their order, without IPython's own commands."""
    installs: bool
    """A cell installs packages."""
    shells: tuple[tuple[str, str], ...] = ()
    """Shells, each with the commands that a cell hands to it: a line behind an exclamation mark, or a whole cell."""
    moves: bool = False
    """A cell changes the working folder, which a kernel searches."""


class Kernel(msgspec.Struct, frozen=True):
    """What starts a notebook's code."""

    file: str
    """The kernelspec; empty for the kernel of Jupyter's own Python."""
    python: str
    """The interpreter's path, which may lead nowhere; empty if the kernelspec does not begin with a Python."""


def is_notebook(path: str) -> bool:
    """Whether a file has a notebook's ending."""
    return path.lower().endswith(".ipynb")


def read_notebook(path: str, where: Sysroot, most: int = MOST_NOTEBOOK) -> Notebook | None:
    """Return a notebook; None if it is unreadable, longer than ``most`` bytes, or for another language."""
    text = where.text(path, most) if where.is_file(path) else None
    try:
        whole = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    told = whole.get("metadata") if isinstance(whole, dict) else None
    spec = told.get("kernelspec") if isinstance(told, dict) else None
    spec = spec if isinstance(spec, dict) else {}
    if str(spec.get("language", "python")).lower() != "python":
        return None
    rows, shells = [], []
    for cell in cells if isinstance(cells := whole.get("cells"), list) else ():
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source")
            its = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
            magic = _WHOLE_CELL.match(its)
            if magic and magic[1] in _SHELLS:
                shells.append((_SHELLS[magic[1]] or magic[2], magic[3]))
            rows += its.splitlines() if magic is None or magic[1] in _OF_PYTHON else [magic[0].split("\n", 1)[0]]
    lines = {row: found[1].strip() for row in rows if (found := _TO_A_SHELL.match(row))}
    shells += [("sh", lines[row]) for row in rows if row in lines]  # IPython's _process_posix.py
    magics = [row for row in rows if row in lines or row.lstrip().startswith("%")]
    name = spec.get("name")
    return Notebook(
        kernel=name if isinstance(name, str) and name else "python3",
        code="\n".join("" if row in magics else row for row in rows),
        installs=any("install" in row for row in (*magics, *(text for _shell, text in shells))),
        shells=tuple(shells),
        moves=any(re.match(r"%?cd\s|[^#]*\bchdir\(", row.lstrip()) for row in rows),
    )


_WHOLE_CELL = late_pattern(r"\s*%%(\w+|!)[ \t]*(\S*)[^\n]*\n?(.*)", re.DOTALL)
_SHELLS = {"bash": "bash", "sh": "sh", "system": "sh", "sx": "sh", "!": "sh", "script": ""}
"""Names behind "%%" that hand a cell to a shell, or to the program that follows (IPython's documentation, "Built-in magic commands")."""
_OF_PYTHON = ("time", "timeit", "capture", "prun", "debug", "memit", "mprun", "skip")
"""Those behind which a cell stays Python."""
_TO_A_SHELL = late_pattern(r"\s*(?:[A-Za-z_][\w, ]*=[ \t]*)?(?:!!?|%sx\s|%system\s)(?!=)(.*)")


def kernel_of(name: str, prefixes: Iterable[str], env: Mapping[str, str], where: Sysroot) -> Kernel | None:
    """Return the kernel of this name; None if Jupyter would find none. Names are compared in small letters, as Jupyter does.

    ``prefixes``: environments that Jupyter may run in, the likeliest first.
    """
    near = [p for p in dict.fromkeys((*prefixes, *_around(env, where))) if p]
    for folder in (
        *_named_folders(env, where),
        *(where.join(p, "share", "jupyter") for p in near),
        *_shared(env, where),
    ):
        kernels = where.join(folder, "kernels")
        for each in where.names(kernels) or ():
            if each.lower() == name.lower() and (argv := _argv(where.join(kernels, each, "kernel.json"), where)):
                own = where.parent(where.parent(folder))
                return Kernel(where.join(kernels, each, "kernel.json"), _python(argv[0], own, near, where))
    if name.lower() in NATIVE:
        python = next((p for p in (_inside(n, where) for n in near if has_kernel(n, where)) if p), "")
        return Kernel("", python) if python else None
    return None


def _argv(path: str, where: Sysroot) -> list[str]:
    try:
        spec = json.loads(where.text(path, MOST_SPEC) or "")
    except (ValueError, RecursionError):
        return []
    argv = spec.get("argv") if isinstance(spec, dict) else None
    return [str(word) for word in argv] if isinstance(argv, list) else []


def _python(word: str, own: str, near: list[str], where: Sysroot) -> str:
    """Return the interpreter that a kernelspec begins with; Jupyter replaces a bare name by the Python that it runs in."""
    if not where.name(word.lower()).startswith(("python", "pypy")):
        return ""
    if where.path_module.isabs(word):
        return word
    return _inside(own, where) or next((p for p in (_inside(n, where) for n in near) if p), "")


def _inside(prefix: str, where: Sysroot) -> str:
    names = (("python.exe",), ("Scripts", "python.exe")) if where.system == "windows" else (("bin", "python"),)
    return next((p for p in (where.join(prefix, *n) for n in names) if where.is_file(p)), "")


def has_kernel(prefix: str, where: Sysroot) -> bool:
    """Whether ipykernel is among an environment's packages."""
    windows = where.system == "windows"
    lib = where.join(prefix, "Lib" if windows else "lib")
    inner = [lib] if windows else [where.join(lib, n) for n in where.names(lib) or () if n.startswith("python3")]
    return any(where.is_folder(where.join(folder, "site-packages", "ipykernel")) for folder in inner)


def has_server(prefix: str, where: Sysroot) -> bool:
    """Whether an environment has a server that starts kernels."""
    return any(where.is_file(where.join(prefix, "bin", n)) for n in SERVERS[1:])


def _around(env: Mapping[str, str], where: Sysroot) -> list[str]:
    """Return the environments of the session: the active one, and that of each Jupyter on PATH, or among the person's own programs, where
    ``uv tool`` and pipx link it (``.local/bin``).
    """
    windows = where.system == "windows"
    found = [env.get("VIRTUAL_ENV", ""), env.get("CONDA_PREFIX", "")]
    folders = variable_in(env, "PATH").split(";" if windows else ":")
    own = [] if windows else [where.join(env.get("HOME", ""), ".local", "bin")]
    for folder in (*folders, *own):
        for name in SERVERS if where.path_module.isabs(folder) else ():
            path = where.join(folder, f"{name}.exe" if windows else name)
            if where.is_file(path):
                found.append(where.parent(where.parent(where.real_path(path))))
    return found


def _named_folders(env: Mapping[str, str], where: Sysroot) -> list[str]:
    parts = env.get("JUPYTER_PATH", "").split(";" if where.system == "windows" else ":")
    return [p for p in parts if where.path_module.isabs(p)]


def _shared(env: Mapping[str, str], where: Sysroot) -> list[str]:
    """Return the folders of the person and of the machine."""
    if where.system == "windows":
        found = (env.get("APPDATA", ""), env.get("PROGRAMDATA", ""))
        return [env.get("JUPYTER_DATA_DIR", ""), *(where.join(p, "jupyter") for p in found if p)]
    home = env.get("HOME", "/")
    data = env.get("XDG_DATA_HOME") or where.join(home, ".local", "share")
    own = env.get("JUPYTER_DATA_DIR") or where.join(data, "jupyter")
    return [own, "/usr/local/share/jupyter", "/usr/share/jupyter"]
