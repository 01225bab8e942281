"""sys.path of a Python environment, each entry with what put it there: computed as getpath and site.py do. Nothing is run.

Sources: Python/Modules/getpath.py and Lib/site.py of CPython 3.8 to 3.14 (https://github.com/python/cpython), Debian's
change of site.getsitepackages (https://salsa.debian.org/cpython-team/python3), PEP 370, PEP 405.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from core.common.late_pattern import late_pattern
from core.common.versions import all_numbers, whole_number
from core.model.facts import SearchEntry, SearchOrigin, StartCode, path_text
from core.probes.python.environment import find_interpreter, read_settings, user_folder
from core.probes.python.start_code import MAX_START_CODE_BYTES, path_changes, variables_set
from core.probes.sysroot import Sysroot

MAX_PTH_BYTES = 256 << 10
"""Bytes that are read of a .pth file."""

_PYTHON_NAME = late_pattern(r"python([0-9]{1,4})\.([0-9]{1,4})t?(?:\.exe)?$")
_LIBRARY_FOLDERS = ("lib", "lib64")

_CALLS = late_pattern(
    r"(?P<what>sys\.path\.insert|sys\.path\.append|site\.addsitedir)\(\s*(?:(?P<at>[0-9]{1,4})\s*,\s*)?"
    r"(?P<path>r?(?:'[^'\n]*'|\"[^\"\n]*\"))\s*\)"
)
"""What an ``import`` line of a .pth file does to sys.path, where it names the folder itself."""


class Interpreter(msgspec.Struct, frozen=True):
    """What decides an interpreter's search, from its files."""

    prefix: str
    """Of the environment."""
    base: str
    """Of the installed Python that it runs: its own for one that is no virtual environment."""
    version: tuple[int, int]
    executable: str = ""
    settings: Mapping[str, str] | None = None
    """pyvenv.cfg; None for no virtual environment."""
    library: str = "lib"
    """The name of the folder above pythonX.Y (sys.platlibdir)."""

    @property
    def short_version(self) -> str:
        """Return "3.11"."""
        return f"{self.version[0]}.{self.version[1]}"


class PythonSearch(msgspec.Struct, frozen=True):
    """sys.path, and the code that may change it."""

    entries: tuple[SearchEntry, ...]
    start_code: tuple[StartCode, ...] = ()


# --- the interpreter -----------------------------------------------------------------------------------------------


def read_interpreter(prefix: str, executable: str, where: Sysroot) -> Interpreter | None:
    """Return what an environment's interpreter is; None where its version cannot be determined."""
    settings = read_settings(where.text(where.join(prefix, "pyvenv.cfg")))
    executable = executable or find_interpreter(prefix, where)
    base = _base_prefix(prefix, executable, settings, where)
    version = _version(prefix, executable, base, settings, where)
    if version is None:
        return None
    name = f"python{version[0]}.{version[1]}"
    library = next((n for n in _LIBRARY_FOLDERS if where.is_file(where.join(base, n, name, "os.py"))), "lib")
    return Interpreter(prefix, base, version, executable, settings, library)


def _version(
    prefix: str, executable: str, base: str, settings: Mapping[str, str] | None, where: Sysroot
) -> tuple[int, int] | None:
    """Return the version of the interpreter that starts: its real name's, else pyvenv.cfg's, else that of its library."""
    if where.system == "windows":
        for folder in dict.fromkeys((base, prefix)):
            for name in where.names(folder) or ():
                if dll := re.fullmatch(r"python3([0-9]{1,4})\.dll", name.lower()):
                    return 3, int(dll[1])
    elif executable and (real := _PYTHON_NAME.match(where.name(where.real_path(executable)))):
        return int(real[1]), int(real[2])
    said = all_numbers((settings or {}).get("version") or (settings or {}).get("version_info") or "")
    if len(said) >= 2:
        return said[0], said[1]
    found = [
        (int(m[1]), int(m[2]))
        for library in _LIBRARY_FOLDERS
        for name in where.names(where.join(base, library)) or ()
        if (m := _PYTHON_NAME.match(name)) and where.is_file(where.join(base, library, name, "os.py"))
    ]
    return max(found, default=None)


def _base_prefix(prefix: str, executable: str, settings: Mapping[str, str] | None, where: Sysroot) -> str:
    home = (settings or {}).get("home")
    if home is None:
        return prefix
    if where.system == "windows":
        return home
    starts = [home, where.real_path(home)]
    if executable:
        starts.append(where.parent(where.real_path(executable)))
    for start in dict.fromkeys(starts):
        folder = start
        while folder and folder != where.parent(folder):
            folder = where.parent(folder)
            if _has_library(folder, where):
                return folder
    return where.parent(home)


def _has_library(folder: str, where: Sysroot) -> bool:
    return any(
        where.is_file(where.join(folder, library, name, "os.py"))
        for library in _LIBRARY_FOLDERS
        for name in where.names(where.join(folder, library)) or ()
        if _PYTHON_NAME.match(name)
    )


# --- sys.path ------------------------------------------------------------------------------------------------------


class _Path:
    """sys.path as it grows: what is on it already is not added again, as site.known_paths has it."""

    def __init__(self, where: Sysroot) -> None:
        self.where = where
        self.entries: list[SearchEntry] = []
        self.code: list[StartCode] = []
        self._known: set[str] = set()

    def absolute(self, *parts: str) -> str:
        return str(self.where.path_module.normpath(self.where.join(*parts)))

    def add(self, path: str, origin: SearchOrigin, source: str = "", line: int = 0, *, at: int | None = None) -> bool:
        """Add a folder that is not on it yet, and say whether it was."""
        key = str(self.where.path_module.normcase(path))
        if key in self._known:
            return False
        self._known.add(key)
        self._put(SearchEntry(path=path_text(path), origin=origin, source=path_text(source), line=line), at)
        return True

    def _put(self, entry: SearchEntry, at: int | None) -> None:
        self.entries.insert(len(self.entries) if at is None else at, entry)

    def add_site(self, folder: str, origin: SearchOrigin, source: str = "", line: int = 0) -> None:
        """Do as site.addsitedir: the folder, then what the .pth files in it name, even where it is on sys.path already."""
        self.add(self.absolute(folder), origin, source, line)
        for name in sorted(self.where.names(folder) or ()):
            if name.endswith(".pth"):
                self._add_pth(folder, self.where.join(folder, name))

    def _add_pth(self, folder: str, file: str) -> None:
        if not _is_text(self.where.read(file, MAX_PTH_BYTES) or b""):
            self.code.append(StartCode(source=path_text(file)))
            return
        for number, line in enumerate((self.where.text(file, MAX_PTH_BYTES) or "").lstrip("\ufeff").splitlines(), 1):
            if line.startswith("#") or not line.strip():
                continue
            if line.startswith(("import ", "import\t")):
                self.code.append(
                    StartCode(
                        source=path_text(file), line=number, text=line.strip()[:200], sets=variables_set(line.strip())
                    )
                )
                self._run(line, file, number)
                continue
            path = self.absolute(folder, line.rstrip())
            if "\0" in path:
                return  # Python ignores the rest of the file
            if self.where.stat(path) is not None:
                self.add(path, "pth", file, number)

    def _run(self, line: str, file: str, number: int) -> None:
        """Follow what a line of code does to sys.path with a folder that it names."""
        for call in _CALLS.finditer(line):
            with suppress(ValueError, SyntaxError):
                import ast  # seldom needed

                path = str(ast.literal_eval(call["path"]))
                if call["what"] == "site.addsitedir":
                    known, self._known = (
                        self._known,
                        {str(self.where.path_module.normcase(e.path)) for e in self.entries},
                    )
                    self.add_site(path, "pth", file, number)
                    self._known = known  # a direct call keeps its own list
                else:
                    at = int(call["at"] or 0) if call["what"].endswith("insert") else None
                    self._put(SearchEntry(path=path_text(path), origin="pth", source=path_text(file), line=number), at)


def python_search_path(python: Interpreter, env: Mapping[str, str], folder: str, where: Sysroot) -> PythonSearch:
    """Return sys.path of a program that starts with ``env`` in ``folder`` (that of its script; empty for none)."""
    if where.system == "windows":
        env = {n.upper(): v for n, v in env.items()}
        if pth := _own_pth(python, where):
            return _from_own_pth(python, pth, where)
    path = _Path(where)
    for text in env.get("PYTHONPATH", "").split(";" if where.system == "windows" else ":"):
        if env.get("PYTHONPATH") and (text or folder):
            path.add(path.absolute(folder, text) if folder else path.absolute(text), "PYTHONPATH", "PYTHONPATH")
    home = env.get("PYTHONHOME", "").split(";" if where.system == "windows" else ":")
    base = home[0] or python.base
    for entry in _standard_library(python, base, home[-1] or base, where):
        path.add(entry, "standard library")
    _add_packages(path, python, env, base, where)
    entries = path.entries
    for code in _customizations(entries, where):
        entries = _changed(entries, code.source, where)
    if folder and not (env.get("PYTHONSAFEPATH") and python.version >= (3, 11)):
        entries = [SearchEntry(path=path_text(folder), origin="start"), *entries]
    return PythonSearch(tuple(entries), tuple(dict.fromkeys((*path.code, *_customizations(entries, where)))))


def _standard_library(python: Interpreter, base: str, platform: str, where: Sysroot) -> Iterator[str]:
    digits = f"python{python.version[0]}{python.version[1]}.zip"
    if where.system == "windows":
        yield where.join(base, digits)
        yield where.join(base, "DLLs")
        yield where.join(base, "Lib")
        yield base
        return
    yield where.join(base, python.library, digits)
    yield where.join(base, python.library, f"python{python.short_version}")
    yield where.join(platform, python.library, f"python{python.short_version}", "lib-dynload")


def _add_packages(path: _Path, python: Interpreter, env: Mapping[str, str], base: str, where: Sysroot) -> None:
    """Do as site.main: a virtual environment's folder, the user's, and those of the installed Python."""
    settings = python.settings
    alone = settings is not None and settings.get("include-system-site-packages", "true").lower() != "true"
    if settings is not None:
        for folder in _site_folders(python, python.prefix, where):
            path_add(path, folder, "site-packages", where)
    if not alone and not _is_on(env.get("PYTHONNOUSERSITE", "")):
        for folder in user_folder(python.version, env, where):
            path_add(path, folder, "user site", where)
    if settings is not None:  # site.venv did it before; the .pth files are processed a second time
        for folder in _site_folders(python, python.prefix, where):
            path_add(path, folder, "site-packages", where)
    if alone:
        return
    for prefix in _further_prefixes(base, python):
        for folder in _site_folders(python, prefix, where):
            path_add(path, folder, "site-packages" if settings is None else "system site-packages", where)


def _is_on(value: str) -> bool:
    """Whether a switch of Python's own is on: any text but the number 0 (``_Py_get_env_flag``)."""
    return bool(value) and whole_number(value.strip()) != 0


def path_add(path: _Path, folder: str, origin: SearchOrigin, where: Sysroot) -> None:
    """Add a folder of packages if it is there."""
    if where.is_folder(folder):
        path.add_site(folder, origin)


def _further_prefixes(base: str, python: Interpreter) -> Iterator[str]:
    """Yield the prefixes whose folders of packages are searched: Fedora adds /usr/local to its own Python."""
    if base == "/usr" and python.library == "lib64":
        yield "/usr/local"
    yield base


def _site_folders(python: Interpreter, prefix: str, where: Sysroot) -> Iterator[str]:
    """Yield what site.getsitepackages returns for a prefix."""
    if where.system == "windows":
        yield prefix
        yield where.join(prefix, "Lib", "site-packages")
        return
    name = f"python{python.short_version}"
    if _is_debians(python, where):
        if python.settings is not None:
            yield where.join(prefix, "lib", name, "site-packages")
        yield where.join(prefix, "local/lib", name, "dist-packages")
        yield where.join(prefix, "lib/python3/dist-packages")
        yield where.join(prefix, "lib", name, "dist-packages")
        return
    for library in dict.fromkeys((python.library, "lib")):
        yield where.join(prefix, library, name, "site-packages")


def _is_debians(python: Interpreter, where: Sysroot) -> bool:
    return python.base in ("/usr", "/") and where.is_folder("/usr/lib/python3/dist-packages")


def follows(code: StartCode, where: Sysroot) -> bool:
    """Whether reading shows all that start-up code does to the search, or that it does nothing to it and ends nothing."""
    if code.source.endswith(".pth") and not code.text:
        return False  # no text: what Python does with it only a start can show
    text = code.text or where.text(code.source, MAX_START_CODE_BYTES) or ""
    if re.search(r"\b(exit|_exit|SystemExit|execv\w*)\b", text):
        return False
    touched = len(re.findall(r"\bsys\.path\b(?!_)", text))
    known = len(_CALLS.findall(text)) if code.text else sum(1 for _change in path_changes(text, code.source))
    return not touched or (known > 0 and "sys.path[" not in text and not re.search(r"sys\.path(\[:\])?\s*=[^=]", text))


def _changed(entries: list[SearchEntry], file: str, where: Sysroot) -> list[SearchEntry]:
    """Return sys.path as the start-up code in a file leaves it, as far as its text tells."""
    out = list(entries)
    for at, place, line in path_changes(where.text(file, MAX_START_CODE_BYTES) or "", file):
        entry = SearchEntry(path=path_text(place), origin="pth", source=path_text(file), line=line)
        out.insert(len(out) if at is None else at, entry)
    return out


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _customizations(entries: list[SearchEntry], where: Sysroot) -> Iterator[StartCode]:
    for name in ("sitecustomize", "usercustomize"):
        for entry in entries:
            if entry.origin != "start" and where.is_file(file := where.join(entry.path, f"{name}.py")):
                text = where.text(file, MAX_START_CODE_BYTES) or ""
                yield StartCode(source=path_text(file), sets=variables_set(text))
                break


# --- ._pth: an interpreter of Windows that carries its own search ------------------------------------------------------


def _own_pth(python: Interpreter, where: Sysroot) -> str:
    """Return the ._pth file beside an interpreter of Windows: python311._pth, or the program's own name."""
    for folder in dict.fromkeys((where.parent(python.executable) if python.executable else "", python.base)):
        stem = where.name(python.executable).rpartition(".")[0]
        for name in (f"{stem}._pth", f"python{python.version[0]}{python.version[1]}._pth"):
            if folder and stem and where.is_file(file := where.join(folder, name)):
                return file
    return ""


def _from_own_pth(python: Interpreter, file: str, where: Sysroot) -> PythonSearch:
    """Return the search that a ._pth file gives: its lines alone, and site-packages where it imports site."""
    path, folder, with_site = _Path(where), where.parent(file), False
    for number, line in enumerate((where.text(file, MAX_PTH_BYTES) or "").lstrip("\ufeff").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if text == "import site":
            with_site = True
        elif text and not text.startswith("import "):
            path.add(path.absolute(folder, text), "._pth", file, number)
    if with_site:
        for site in _site_folders(python, python.prefix, where):
            path_add(path, site, "site-packages", where)
    return PythonSearch(tuple(path.entries), tuple(path.code))
