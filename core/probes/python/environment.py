"""One Python environment, read from outside: prefix, kind, version, package folders, relevant distributions."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Literal

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.versions import all_numbers
from core.host.this_host import app_alias_target
from core.loader import read_image
from core.model.facts import Distribution, PythonEnvironment, path_text
from core.probes.python.installed.distributions import read_distributions, that_matter
from core.probes.sysroot import Sysroot

Kind = Literal["venv", "conda", "system", "embedded", "store", "other"]

_LIB_PYTHON = late_pattern(r"python([0-9]{1,4})\.([0-9]{1,4})t?$")
_STORE = late_pattern(
    r"(PythonSoftwareFoundation\.Python\.([0-9]{1,4})\.([0-9]{1,4}))_(?:[0-9.]+_\w*?_\w*?_)?([0-9a-z]+)"
)
"""Full name (with version, architecture and resource id) or family name of the Store's Python packages; the family name
is the folder of their aliases.
"""
_PATCHLEVEL = late_pattern(r'#\s*define\s+PY_VERSION\s+"([^"]+)"')


def prefix_of(path: str, where: Sysroot, env: Mapping[str, str]) -> str:
    """Return the prefix of the environment that ``path`` (an interpreter or a folder) belongs to; empty for none.

    As CPython does: pyvenv.cfg beside the interpreter or one folder up comes first, before links are followed.
    """
    path = path.rstrip("/\\") or path
    if where.system == "windows":
        alias = where.join(path, "python.exe") if where.is_folder(path) else path
        if _is_app_alias(alias, where):
            path = where.target_path(app_alias_target(where.local_path(alias)))
            if not path or _is_app_alias(path, where):
                return ""
    if where.is_folder(path):
        return path if _is_environment(path, where) else ""
    if not where.is_file(path):
        return ""
    folder = where.parent(path)
    shim = _behind_shim(folder, where, env)
    if shim:
        return shim
    for near in (where.parent(folder), folder):
        if where.is_file(where.join(near, "pyvenv.cfg")):
            return near
    folder = where.parent(where.real_path(path))
    for near in (where.parent(folder), folder):
        if _is_environment(near, where):
            return near
    return ""


def _is_app_alias(path: str, where: Sysroot) -> bool:
    """Whether a file is an App Execution Alias, which has no content and may only open the Store."""
    seen = where.stat(path)
    if seen is None or not stat.S_ISREG(seen.st_mode):
        return False
    # getattr: only Python on Windows defines these names
    tagged = getattr(seen, "st_reparse_tag", 0) == getattr(stat, "IO_REPARSE_TAG_APPEXECLINK", None)
    return tagged or (seen.st_size == 0 and "\\windowsapps\\" in path.lower())


def _is_environment(prefix: str, where: Sysroot) -> bool:
    if where.is_file(where.join(prefix, "pyvenv.cfg")) or where.is_folder(where.join(prefix, "conda-meta")):
        return True
    if where.system == "windows":
        return where.is_file(where.join(prefix, "python.exe"))
    return bool(find_interpreter(prefix, where)) and bool(_lib_folders(prefix, where))


def _behind_shim(folder: str, where: Sysroot, env: Mapping[str, str]) -> str:
    """Return the prefix that a pyenv shim selects: PYENV_VERSION, else pyenv's global version."""
    root = where.parent(folder)
    if where.name(folder) != "shims" or not where.is_folder(where.join(root, "versions")):
        return ""
    said = env.get("PYENV_VERSION") or where.text(where.join(root, "version"), 4096) or ""
    wanted = re.split(r"[:\s]", said.strip())[0]
    installed = where.names(where.join(root, "versions")) or ()
    matching = [n for n in installed if n == wanted] or [n for n in installed if wanted and n.startswith(wanted + ".")]
    return where.join(root, "versions", max(matching, key=all_numbers)) if matching else ""


def find_interpreter(prefix: str, where: Sysroot) -> str:
    """Return the path of the interpreter of ``prefix``; empty if there is none."""
    names = ("Scripts\\python.exe", "python.exe") if where.system == "windows" else ("bin/python", "bin/python3")
    return next((p for n in names if where.is_file(p := where.join(prefix, n))), "")


def is_of_another_system(prefix: str, where: Sysroot) -> bool:
    """Whether an environment was made by a Python of another system: WSL's in a project on Windows' disk, or the reverse."""
    if find_interpreter(prefix, where):
        return False
    folder, its = ("bin", ("python", "python3")) if where.system == "windows" else ("Scripts", ("python.exe",))
    names = where.names(where.join(prefix, folder)) or ()
    return any(name in names for name in its)


def describe_environment(
    prefix: str, given: str, env: Mapping[str, str], where: Sysroot, *, every: bool = False
) -> PythonEnvironment:
    """Return what the files of one environment say.

    A broken environment has ``problem`` set; this never raises. ``every`` adds the distributions that only require a
    relevant one, or that one requires.
    """
    settings = read_settings(where.text(where.join(prefix, "pyvenv.cfg")))
    executable = given if given.startswith(prefix) and where.is_file(given) else find_interpreter(prefix, where)
    kind = _kind(prefix, settings, where)
    folders = tuple(site_packages(prefix, kind, settings, env, where))
    problem = _problem(executable, folders, settings, where, of_another_system=is_of_another_system(prefix, where))
    unreadable: list[str] = []
    found: list[Distribution] = []
    for folder in folders:
        its = read_distributions(folder, where, every=every)
        found.extend(its or ())
        if its is None:
            unreadable.append(folder)
    if unreadable and not problem:
        problem = fact_text(
            "The folder {unreadable} cannot be listed by this user.", unreadable=path_text(unreadable[0])
        )
    return PythonEnvironment(
        prefix=path_text(prefix),
        executable=path_text(executable),
        version=_version(prefix, kind, settings, where),
        kind=kind,
        architecture=read_image.read_image(where.local_path(executable)).architecture if executable else "",
        site_packages=tuple(path_text(f) for f in folders),
        distributions=that_matter(found),
        installer=_installer(folders, settings, where),
        managed=kind != "venv" and _is_managed(prefix, where),
        dll_folders=tuple(_dll_folders(folders, where)) if where.system == "windows" else (),
        problem=problem,
    )


def _installer(
    folders: tuple[str, ...], settings: dict[str, str] | None, where: Sysroot
) -> Literal["pip", "uv", "none"]:
    if any(where.is_folder(where.join(folder, "pip")) for folder in folders):
        return "pip"
    return "uv" if "uv" in (settings or {}) else "none"


def _is_managed(prefix: str, where: Sysroot) -> bool:
    """Whether the standard library's folder has the marker EXTERNALLY-MANAGED (PEP 668)."""
    libraries = (
        [where.join(prefix, "Lib")] if where.system == "windows" else [f for f, _ in _lib_folders(prefix, where)]
    )
    return any(where.is_file(where.join(folder, "EXTERNALLY-MANAGED")) for folder in libraries)


_ADDS = late_pattern(r"add_dll_directory\(\s*(r?(?:'[^'\n]*'|\"[^\"\n]*\"))\s*\)")


def _dll_folders(folders: tuple[str, ...], where: Sysroot) -> Iterator[str]:
    """Yield the existing folders that lines of .pth files pass to os.add_dll_directory.

    Python runs such a line at its start if it begins with "import" (documentation of the module site).
    """
    files = [where.join(f, name) for f in folders for name in where.names(f) or () if name.endswith(".pth")]
    lines = (line for file in files for line in (where.text(file) or "").splitlines())
    run = (line for line in lines if line.startswith(("import ", "import\t")))
    for literal in (found for line in run for found in _ADDS.findall(line)):
        import ast  # seldom needed

        with suppress(ValueError, SyntaxError):
            added = str(ast.literal_eval(literal))
            if where.is_folder(added):
                yield added


def read_settings(content: str | None) -> dict[str, str] | None:
    """Return the settings of pyvenv.cfg with lower-case names; None if there is no such file."""
    if content is None:
        return None
    pairs = (line.split("=", 1) for line in content.splitlines() if "=" in line)
    return {name.strip().lower(): value.strip() for name, value in pairs}


def _kind(prefix: str, settings: dict[str, str] | None, where: Sysroot) -> Kind:
    if settings is not None:
        return "venv"
    if where.is_folder(where.join(prefix, "conda-meta")):
        return "conda"
    if where.system == "windows":
        if "\\windowsapps\\" in prefix.lower() + "\\":
            return "store"
        names = where.names(prefix) or ()
        return "embedded" if any(re.fullmatch(r"python\d+\._pth", n) for n in names) else "other"
    return "system" if prefix in ("/usr", "/usr/local", "/") else "other"


def _lib_folders(prefix: str, where: Sysroot) -> list[tuple[str, tuple[int, int]]]:
    """Return the lib/python3.X folders of a prefix on Linux, newest first."""
    found = []
    for lib in ("lib", "lib64"):
        for name in where.names(where.join(prefix, lib)) or ():
            if (m := _LIB_PYTHON.match(name)) and m.end() == len(name):
                found.append((where.join(prefix, lib, name), (int(m[1]), int(m[2]))))
    return sorted(found, key=lambda f: f[1], reverse=True)


def site_packages(
    prefix: str, kind: Kind, settings: dict[str, str] | None, env: Mapping[str, str], where: Sysroot
) -> Iterator[str]:
    """Yield the existing package folders in the interpreter's order, each real folder once."""
    settings = settings or {}
    seen = set()
    for folder in _package_folders(prefix, kind, settings, env, where):
        if where.is_folder(folder) and (real := where.real_path(folder)) not in seen:
            seen.add(real)
            yield folder


def _package_folders(
    prefix: str, kind: Kind, settings: Mapping[str, str], env: Mapping[str, str], where: Sysroot
) -> Iterator[str]:
    version = _minor(prefix, settings, where)
    alone = kind == "venv" and settings.get("include-system-site-packages", "false").lower() != "true"
    runs = settings.get("home") or prefix if kind == "venv" else prefix
    of_user = user_folder(runs, version, env, where) if version and not env.get("PYTHONNOUSERSITE") else ()
    if kind not in ("venv", "embedded") or (kind == "embedded" and takes_persons_packages(prefix, where)):
        yield from of_user
    yield from _own_folders(prefix, version, where)
    if kind == "venv" and not alone and (home := settings.get("home")):
        yield from of_user
        base = home if where.system == "windows" else where.parent(where.real_path(home))
        yield from _own_folders(base, version, where)


_STARTS_A_PROGRAM = (
    r"(?im)^[ \t]*(?!rem\b|::)[^\r\n]*\b{name}\\pythonw?\.exe\"?((?:[ \t]+-\w+)*)[ \t]+\"?[^\s\"-][^\s\"]*\.pyw?\b"
)


def takes_persons_packages(prefix: str, where: Sysroot) -> bool:
    """Whether a Python whose ._pth file imports site runs a program with the person's own packages: a batch file beside it starts one without ``-s``.

    PYTHONNOUSERSITE is not read with such a file; portable programs come with ``-s`` in their batch files.
    """
    join, text = where.join, where.text
    pths = [text(join(prefix, n), 4096) or "" for n in where.names(prefix) or () if n.lower().endswith("._pth")]
    if not any(re.search(r"(?m)^import site\b", its) for its in pths):
        return False
    starts = re.compile(_STARTS_A_PROGRAM.replace("{name}", re.escape(where.name(prefix))))
    beside = where.parent(prefix)
    files = [n for n in where.names(beside) or () if n.lower().endswith(".bat")][:MOST_BATCH_FILES]
    found = (m for n in files for m in starts.finditer(text(join(beside, n), 1 << 16) or ""))
    return any(not re.search(r"-\w*[sI]", m[1]) for m in found)


MOST_BATCH_FILES = 40


def _own_folders(prefix: str, version: tuple[int, int] | None, where: Sysroot) -> Iterator[str]:
    if where.system == "windows":
        yield where.join(prefix, "Lib", "site-packages")
        return
    for folder, its in _lib_folders(prefix, where):
        if version in (None, its):
            yield where.join(folder, "site-packages")
    if prefix in ("/usr", "/") and version:  # Debian's own folder: site.py of its python3 package.
        yield where.join("/usr/local/lib", f"python{version[0]}.{version[1]}", "dist-packages")
        yield "/usr/lib/python3/dist-packages"
        yield where.join("/usr/lib", f"python{version[0]}.{version[1]}", "dist-packages")


def _store_base(prefix: str, env: Mapping[str, str], where: Sysroot) -> str:
    """Return what the Store's Python sets PYTHONUSERBASE to when it starts (PC/python_uwp.cpp); empty for every other."""
    family = _STORE.fullmatch(where.name(prefix)) if where.system == "windows" else None
    if not family or not env.get("LOCALAPPDATA"):
        return ""
    return where.join(env["LOCALAPPDATA"], "Packages", f"{family[1]}_{family[4]}", "LocalCache", "local-packages")


def user_folder(prefix: str, version: tuple[int, int], env: Mapping[str, str], where: Sysroot) -> Iterator[str]:
    """Yield the folder of ``pip install --user`` (PEP 370) of the Python in ``prefix``, also if it does not exist."""
    if where.system == "windows":
        base = _store_base(prefix, env, where) or env.get("PYTHONUSERBASE")
        base = base or (where.join(env["APPDATA"], "Python") if env.get("APPDATA") else "")
        tail = where.join(f"Python{version[0]}{version[1]}", "site-packages")
    else:
        base = env.get("PYTHONUSERBASE") or (where.join(env["HOME"], ".local") if env.get("HOME") else "")
        tail = where.join("lib", f"python{version[0]}.{version[1]}", "site-packages")
    if base:
        yield where.join(base, tail)


def _minor(prefix: str, settings: Mapping[str, str], where: Sysroot) -> tuple[int, int] | None:
    """Return major and minor version: from pyvenv.cfg, the interpreter's resolved name, or the newest lib/python3.X."""
    said = all_numbers(settings.get("version") or settings.get("version_info") or "")
    said_pair = (said[0], said[1]) if len(said) >= 2 else None
    if where.system == "windows":
        if said_pair:
            return said_pair
        names = where.names(prefix) or ()
        dll = next((m for n in names if (m := re.fullmatch(r"python3([0-9]{1,4})\.dll", n.lower()))), None)
        family = _STORE.fullmatch(where.name(prefix))
        return (3, int(dll[1])) if dll else (int(family[2]), int(family[3])) if family else None
    executable = find_interpreter(prefix, where)
    real = _LIB_PYTHON.match(where.name(where.real_path(executable))) if executable else None
    folders = _lib_folders(prefix, where)
    starts = (int(real[1]), int(real[2])) if real else None
    if starts and (said_pair is None or starts in {its for _folder, its in folders}):
        return starts  # The version in pyvenv.cfg has no effect.
    if said_pair:
        return said_pair
    return folders[0][1] if folders else None


def _version(prefix: str, kind: Kind, settings: dict[str, str] | None, where: Sysroot) -> str:
    """Return the most complete version that files give: pyvenv.cfg, conda's record, patchlevel.h, a file name."""
    said = re.match(r"\d+(\.\d+){1,2}", (settings or {}).get("version") or (settings or {}).get("version_info") or "")
    if said and (where.system == "windows" or tuple(all_numbers(said[0])[:2]) == _minor(prefix, settings or {}, where)):
        return said[0]
    if kind == "conda":
        for name in where.names(where.join(prefix, "conda-meta")) or ():
            if m := re.match(r"python-(\d+\.\d+\.\d+)-", name):
                return m[1]
    minor = _minor(prefix, settings or {}, where)
    if minor is None:
        return ""
    short = f"{minor[0]}.{minor[1]}"
    include = (
        where.join(prefix, "include") if where.system == "windows" else where.join(prefix, "include", f"python{short}")
    )
    header = where.text(where.join(include, "patchlevel.h"))
    full = _PATCHLEVEL.search(header) if header else None
    return full[1] if full else short


def goes_without_home(home: str, executable: str, where: Sysroot) -> bool:
    """Whether the interpreter starts although ``home`` in its pyvenv.cfg does not exist.

    If ``home`` is relative, CPython falls back on the prefix it was compiled for (Modules/getpath.py); that works if
    the interpreter is installed there.
    """
    if where.system == "windows" or where.path_module.isabs(home) or not executable:
        return False
    base = where.parent(where.parent(where.real_path(executable)))
    return base != where.parent(where.parent(executable)) and bool(_lib_folders(base, where))


def _problem(
    executable: str,
    folders: tuple[str, ...],
    settings: dict[str, str] | None,
    where: Sysroot,
    *,
    of_another_system: bool,
) -> str:
    if of_another_system:
        return fact_text("It was made on another system, whose programs do not run here.")
    home = (settings or {}).get("home")
    if home and not where.is_folder(home) and not goes_without_home(home, executable, where):
        return fact_text("It was made from the Python in {home}, which is not there any more.", home=path_text(home))
    if not executable:
        return fact_text("Its interpreter is not there.")
    if not folders:
        return fact_text("It has no folder of packages.")
    return ""
