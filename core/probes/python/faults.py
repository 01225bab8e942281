"""Faults of an environment that stop its interpreter or misdirect its tools, and leftovers of an interrupted pip."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from core.common.late_pattern import late_pattern
from core.loader import read_image
from core.loader.linux.cache import conf_folders, read_cache
from core.model.facts import EnvironmentFault, Remains, SearchEntry, path_text
from core.model.paths import normalise
from core.probes.python.environment import find_interpreter, goes_without_home
from core.probes.python.installed.distributions import RELEVANT_DISTRIBUTION, normalise_name, states_version
from core.probes.python.search.pth_text import MAX_PTH_BYTES, pth_text
from core.probes.python.search.search_path import MARK, Interpreter, own_pth, search_of_pth
from core.probes.sysroot import Sysroot

_ACTIVATE = late_pattern(r"""^\s*(?:export\s+)?VIRTUAL_ENV=(?:"([^"$`\n]+)"|'([^'\n]+)'|([^\s"'$`();]+))\s*(?:;.*)?$""")
_ACTIVATE_BAT = late_pattern(r"""(?i)^@?set\s+"?VIRTUAL_ENV=([^"%\n]+?)"?\s*$""")
_SHEBANG = late_pattern(rb"^#!\s*(/[^\r\n]*?/(?:bin)/python[\w.]*)[ \t]*(?:\r?\n|$)")
_DEFAULT_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                    "/lib64", "/usr/lib64", "/lib", "/usr/lib")  # fmt: skip


def environment_faults(
    prefix: str, python: Interpreter | None, env: Mapping[str, str], where: Sysroot
) -> Iterator[EnvironmentFault]:
    """Yield the faults of the environment itself."""
    yield from _dangling_interpreter(prefix, where)
    if python is None:
        return
    home = (python.settings or {}).get("home", "")
    config = where.join(prefix, "pyvenv.cfg")
    if home and not where.is_folder(home) and not goes_without_home(home, python.executable, where):
        yield EnvironmentFault(kind="base gone", path=path_text(home), source=config, line=_line_of_home(config, where))
    elif python.executable:
        yield from _library(python, env, where)
        yield from _standard_library(python, env, where)
    yield from _upgraded(python, where)
    yield from _without_configuration(python, where)
    yield from _packages_not_named(python, where)
    if python.settings is not None:
        yield from _moved(prefix, where)


def _line_of_home(file: str, where: Sysroot) -> int:
    lines = (where.text(file) or "").splitlines()
    return next((n for n, line in enumerate(lines, 1) if line.partition("=")[0].strip().lower() == "home"), 0)


def _dangling_interpreter(prefix: str, where: Sysroot) -> Iterator[EnvironmentFault]:
    if find_interpreter(prefix, where):
        return
    if where.system == "windows":
        yield from _taken_away(prefix, where)
        return
    for name in ("python", "python3"):
        link = where.join(prefix, "bin", name)
        if where.is_link(link):
            yield EnvironmentFault(
                kind="interpreter gone", path=path_text(link), detail=path_text(where.real_path(link))
            )
            return


def _taken_away(prefix: str, where: Sysroot) -> Iterator[EnvironmentFault]:
    """Yield a fault if an environment has packages and no python.exe, as a virus scanner leaves it."""
    is_virtual = where.is_file(where.join(prefix, "pyvenv.cfg"))
    of_conda = any(n.startswith("python-3") for n in where.names(where.join(prefix, "conda-meta")) or ())
    if (is_virtual or of_conda) and where.is_folder(where.join(prefix, "Lib", "site-packages")):
        path = where.join(prefix, "Scripts", "python.exe") if is_virtual else where.join(prefix, "python.exe")
        yield EnvironmentFault(kind="interpreter gone", path=path_text(path))


def _upgraded(python: Interpreter, where: Sysroot) -> Iterator[EnvironmentFault]:
    """Yield a fault if the packages' folder of a virtual environment belongs to another version than the interpreter."""
    if python.settings is None or where.system == "windows":
        return
    names = [n for n in where.names(where.join(python.prefix, "lib")) or () if re.fullmatch(r"python3\.\d{1,3}t?", n)]
    its = f"python{python.short_version}"
    filled = [n for n in names if where.is_folder(where.join(python.prefix, "lib", n, "site-packages"))]
    if filled and its not in {n.rstrip("t") for n in filled}:
        yield EnvironmentFault(
            kind="upgraded beneath",
            path=path_text(where.join(python.prefix, "lib", filled[0], "site-packages")),
            source=path_text(where.real_path(python.executable)),
            detail=f"{filled[0].removeprefix('python')} {python.short_version}",
        )


def _without_configuration(python: Interpreter, where: Sysroot) -> Iterator[EnvironmentFault]:
    """Yield a fault if the environment lost its pyvenv.cfg: its link then starts the base Python without these packages."""
    if python.settings is not None or where.system == "windows" or not where.is_link(python.executable):
        return
    folder = where.join(python.prefix, "lib", f"python{python.short_version}")
    real = where.real_path(python.executable)
    outside = not real.startswith(python.prefix.rstrip("/") + "/")
    if (
        outside
        and where.is_folder(where.join(folder, "site-packages"))
        and not where.is_file(where.join(folder, "os.py"))
        and not where.is_folder(where.join(python.prefix, "conda-meta"))
    ):
        file = where.join(python.prefix, "pyvenv.cfg")
        yield EnvironmentFault(kind="no configuration", path=path_text(file), detail=path_text(real))


def ignored_lines(
    entries: Iterable[SearchEntry], home: str, where: Sysroot, version: tuple[int, ...], env: Mapping[str, str]
) -> Iterator[EnvironmentFault]:
    """Yield the lines of .pth files that would name a folder which is there, if Python did not read them letter by
    letter.

    Such a line stands behind an editor's byte order mark or in quotes, contains "~" or a variable, or has an encoding
    that this Python does not read, such as the UTF-16 of PowerShell's ">" (site.addpackage).
    """
    listed = tuple(entries)
    known = {where.real_path(e.path) for e in listed}
    for folder in dict.fromkeys(e.path for e in listed if e.origin in ("site-packages", "user site")):
        for name in [n for n in where.names(folder) or () if n.endswith(".pth")]:
            file = where.join(folder, name)
            data = where.read(file, MAX_PTH_BYTES) or b""
            wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            text = data.decode("utf-16", "replace") if wide else where.text(file, MAX_PTH_BYTES) or ""
            read = text.replace("", "\0") if wide else pth_text(data, version, env, where.system)
            rows = zip(text.splitlines(), (text if read is None else read).splitlines(), strict=False)
            for number, (line, as_read) in enumerate(rows, 1):
                told = as_read.strip()
                bare = line.strip().removeprefix(MARK).strip().strip("\"'")
                bare = re.sub(r"^~(?=[/\\])|\$HOME\b|\$\{HOME\}", lambda _m: home, bare) if home else bare
                if bare in (told, "") or told.startswith(("#", "import ", "import\t")):
                    continue
                meant, taken = (
                    str(where.path_module.normpath(where.join(folder, t))) for t in (bare, "" if wide else told)
                )
                taken_is_there = not wide and where.exists(taken)
                if where.is_folder(meant) and where.real_path(meant) not in known and not taken_is_there:
                    yield EnvironmentFault(
                        kind="line ignored",
                        path=path_text(meant),
                        source=path_text(file),
                        line=number,
                        detail=ascii(told)[1:-1],
                    )


def _packages_not_named(python: Interpreter, where: Sysroot) -> Iterator[EnvironmentFault]:
    """Yield a fault if the ._pth file of an embeddable Python leaves out the folder that pip installs into.

    A ._pth file replaces the whole search; as it comes, its line "import site" is a comment
    (https://docs.python.org/3/using/windows.html#finding-modules).
    """
    if where.system != "windows" or not (file := own_pth(python, where)):
        return
    folder = where.join(python.prefix, "Lib", "site-packages")
    searched = {normalise("windows", entry.path) for entry in search_of_pth(python, file, where).entries}
    installed = any(name.lower().endswith(".dist-info") for name in where.names(folder) or ())
    if installed and normalise("windows", folder) not in searched:
        yield EnvironmentFault(kind="packages not named", path=path_text(file), detail=path_text(folder))


def _standard_library(python: Interpreter, env: Mapping[str, str], where: Sysroot) -> Iterator[EnvironmentFault]:
    named = env.get("PYTHONHOME", "")
    layout = env.get("PYTHONPLATLIBDIR", "") if where.system != "windows" and python.version >= (3, 9) else ""
    base = named.split(";" if where.system == "windows" else ":")[0] or python.base
    if where.system == "windows":
        there = where.is_file(where.join(base, "Lib", "os.py")) or any(
            n.lower().endswith((".zip", "._pth")) for n in where.names(base) or () if n.lower().startswith("python3")
        )
    else:
        digits = f"python{python.version[0]}{python.version[1]}.zip"
        folders = (
            where.join(base, n, f"python{python.short_version}") for n in ((layout,) if layout else ("lib", "lib64"))
        )
        there = any(where.is_file(where.join(f, "os.py")) or where.is_file(where.join(f, "os.pyc")) for f in folders)
        there = there or any(
            where.is_file(where.join(base, n, digits)) for n in ((layout,) if layout else ("lib", "lib64"))
        )
    lost = python.settings is None and where.is_link(python.executable)  # of an environment without pyvenv.cfg
    if not there and not lost and (named or layout or (python.settings is not None and where.is_folder(base))):
        whose = "PYTHONPLATLIBDIR" if layout else "PYTHONHOME" if named else ""
        place = where.join(base, layout) if layout else base
        yield EnvironmentFault(kind="no standard library", path=path_text(place), source=whose)


def _library(python: Interpreter, env: Mapping[str, str], where: Sysroot) -> Iterator[EnvironmentFault]:
    """Yield a fault if ld.so finds no libpython for an interpreter that is linked against it."""
    if where.system == "windows":
        return
    image = read_image.read_image(where.real_path(python.executable), root=where.root)
    wanted = next((n for n in image.needed if n.startswith("libpython")), "")
    if not wanted:
        return
    origin = where.parent(where.real_path(python.executable))
    own = [p.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for p in (*image.rpath, *image.runpath)]
    set_here = [p for p in re.split("[:;]", env.get("LD_LIBRARY_PATH", "")) if p]
    listed = [c.path for c in conf_folders(root=where.root)]
    folders = dict.fromkeys((*own, *set_here, *_DEFAULT_FOLDERS, *listed))
    if any(where.is_file(where.join(folder, wanted)) for folder in folders):
        return
    cache = read_cache(root=where.root) or ()
    if not any(entry.name == wanted and where.is_file(entry.path) for entry in cache):
        yield EnvironmentFault(kind="library gone", path=path_text(where.real_path(python.executable)), detail=wanted)


def _moved(prefix: str, where: Sysroot) -> Iterator[EnvironmentFault]:
    """Yield a fault if the scripts of the environment name another folder than its own."""
    for file, line, named in _named_folders(prefix, where):
        if where.real_path(named) != where.real_path(prefix):
            yield EnvironmentFault(
                kind="copied" if where.is_folder(named) else "moved",
                path=path_text(named),
                source=path_text(file),
                line=line,
            )
            return


def _named_folders(prefix: str, where: Sysroot) -> Iterator[tuple[str, int, str]]:
    windows = where.system == "windows"
    scripts = where.join(prefix, "Scripts" if windows else "bin")
    file = where.join(scripts, "activate.bat" if windows else "activate")
    pattern = _ACTIVATE_BAT if windows else _ACTIVATE
    for number, line in enumerate((where.text(file) or "").splitlines(), 1):
        if (found := pattern.match(line)) and where.path_module.isabs(named := next(g for g in found.groups() if g)):
            yield file, number, named
            break
    for name in () if windows else ("pip", "pip3"):
        first = _SHEBANG.match(where.read(where.join(scripts, name), 512) or b"")
        if first:
            yield where.join(scripts, name), 1, where.parent(where.parent(os.fsdecode(first[1])))
            break


# --- what pip left ---------------------------------------------------------------------------------------------------


def remains_of_pip(
    entries: tuple[SearchEntry, ...], where: Sysroot, required: frozenset[str] = frozenset()
) -> Iterator[Remains]:
    """Yield the leftovers of interrupted installations in package folders: of relevant or required distributions."""
    for entry in entries:
        if entry.origin in ("standard library", "start"):
            continue
        for name in where.names(entry.path) or ():
            path = where.join(entry.path, name)
            if name.startswith("~"):
                if whose := _behind_tilde(name):
                    yield Remains(path=path_text(path), kind="renamed", distribution=whose)
            elif name.endswith(".dist-info"):
                yield from _incomplete_metadata(entry.path, name, required, where)


def _incomplete_metadata(folder: str, name: str, required: frozenset[str], where: Sysroot) -> Iterator[Remains]:
    """Yield a folder of metadata that an installation did not finish, or a removal did not empty."""
    its = normalise_name(name.removesuffix(".dist-info").partition("-")[0])
    relevant = bool(RELEVANT_DISTRIBUTION.fullmatch(its))
    path = where.join(folder, name)
    files = where.names(path) if (relevant or its in required) and where.is_folder(path) else None
    if files is None:
        return
    stated = states_version(path, where) if "METADATA" in files else None
    if not stated:
        kind: Literal["no metadata", "no version"] = "no metadata" if stated is None else "no version"
        behind = _found_before(folder, name, where)
        yield Remains(path=path_text(path), kind=kind, distribution=its, behind=behind)
    elif relevant and not {"RECORD", "INSTALLER", "REQUESTED"} & set(files):
        yield Remains(path=path_text(path), kind="no record", distribution=its)


def _found_before(folder: str, entry: str, where: Sysroot) -> str:
    """Return the metadata of the same distribution that Python finds before these; empty if it finds these first.

    importlib.metadata takes the first in the order of the file system.
    """
    name = normalise_name(entry.partition("-")[0])
    others = [n for n in where.names(folder) or () if n.endswith(".dist-info") and n != entry]
    same = {n for n in others if normalise_name(n.partition("-")[0]) == name}
    if not same:
        return ""
    first = next((n for n in where.listed(folder) if n == entry or n in same), entry)
    return "" if first == entry else path_text(where.join(folder, first))


_KNOWN_NAMES = ("torch", "torchvision", "torchaudio", "tensorflow", "keras", "jax", "jaxlib", "onnxruntime", "ctranslate2",
                "numpy", "nvidia", "triton", "cupy", "paddle", "numba", "cv2", "xformers")  # fmt: skip


def _behind_tilde(name: str) -> str:
    """Return the original name of a folder that pip renamed: "~" and more characters replace as many first letters
    (pip's AdjacentTempDirectory).
    """
    plain = re.sub(r"-[^-]+\.dist-info$", "", name)
    tail = re.sub(r"^[~\-.=%0-9]+", "", plain)
    if plain.startswith("~vidia"):
        return "nvidia"
    return next((n for n in _KNOWN_NAMES if tail and len(n) == len(plain) and n.endswith(tail)), "")
