"""sys.path of a Python environment, and what added each entry: computed as getpath and site.py do; no code runs.

Sources: Python/Modules/getpath.py and Lib/site.py of CPython 3.8 to 3.14 (https://github.com/python/cpython), Debian's
change of site.getsitepackages (https://salsa.debian.org/cpython-team/python3), PEP 370, PEP 405.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import last_name, statements_of
from core.common.versions import all_numbers, whole_number
from core.model.facts import SearchEntry, SearchOrigin, StartCode, path_text
from core.probes.driver.libraries import is_driver_stub
from core.probes.python.environment import find_interpreter, read_settings, takes_persons_packages, user_folder
from core.probes.python.search.other_library import is_library
from core.probes.python.search.pep582 import is_of_pdm, with_own_packages
from core.probes.python.search.pth_text import MAX_PTH_BYTES, pth_text
from core.probes.python.search.start_code import (
    MAX_START_CODE_BYTES,
    changes_of_path,
    libraries_loaded,
    path_changes,
    variables_set,
)
from core.probes.python.text.generated_code import takes_all
from core.probes.python.text.path_expressions import PathNames
from core.probes.sysroot import Sysroot

_PYTHON_NAME = late_pattern(r"python([0-9]{1,4})\.([0-9]{1,4})t?(?:\.exe)?$")
_LIBRARY_FOLDERS = ("lib", "lib64")


class Interpreter(msgspec.Struct, frozen=True):
    """The properties of an interpreter that decide its module search, read from files."""

    prefix: str
    """The environment's prefix."""
    base: str
    """The prefix of the installed Python that it runs; the same prefix unless it is a virtual environment."""
    version: tuple[int, int]
    executable: str = ""
    settings: Mapping[str, str] | None = None
    """The settings of pyvenv.cfg; None unless it is a virtual environment."""
    library: str = "lib"
    """Name of the folder that contains pythonX.Y (sys.platlibdir)."""

    @property
    def short_version(self) -> str:
        """The version as in "3.11"."""
        return f"{self.version[0]}.{self.version[1]}"


FOLDERS_OF_PACKAGES = ("site-packages", "user site", "PYTHONPATH", "pth")
"""Origins of the entries in which installed packages lie."""


class PythonSearch(msgspec.Struct, frozen=True):
    """sys.path, and the start-up code that may change it."""

    entries: tuple[SearchEntry, ...]
    start_code: tuple[StartCode, ...] = ()
    any_protobuf: bool = False
    """A variable makes protobuf take generated code of any release."""

    def origin(self, number: int) -> str:
        """Return where an entry comes from, by its number; empty for a module that no entry has."""
        return self.entries[number].origin if 0 <= number < len(self.entries) else ""

    def folder(self, number: int) -> str:
        """Return an entry's path, by its number; empty for a module that no entry has."""
        return self.entries[number].path if 0 <= number < len(self.entries) else ""

    @property
    def start(self) -> str:
        """The folder that programs are started in; empty where it is not searched."""
        return next((e.path for e in self.entries if e.origin == "start"), "")

    @property
    def packages(self) -> tuple[str, ...]:
        """The folders of installed packages, each once."""
        return tuple(dict.fromkeys(e.path for e in self.entries if e.origin in FOLDERS_OF_PACKAGES))

    def split(self) -> tuple[tuple[SearchEntry, ...], tuple[SearchEntry, ...]]:
        """Return the entries before the environment's packages, and those from there on."""
        first = next((n for n, e in enumerate(self.entries) if e.origin == "site-packages"), len(self.entries))
        return self.entries[:first], self.entries[first:]


# --- the interpreter -----------------------------------------------------------------------------------------------


def read_interpreter(prefix: str, executable: str, where: Sysroot) -> Interpreter | None:
    """Return the properties of an environment's interpreter; None if its version cannot be determined."""
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
    """Return the interpreter's version: from its resolved name, else pyvenv.cfg, else its standard library."""
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


MARK = "\ufeff"
"""The mark at the start of a text that some editors write. Before Python 3.13 it belongs to the first line (site.addpackage)."""


class _Path:
    """sys.path under construction: an entry that it contains already is not added again, as site.known_paths has it."""

    def __init__(self, where: Sysroot, version: tuple[int, ...] = (), env: Mapping[str, str] | None = None) -> None:
        self.where = where
        self.version, self.env = version, env or {}
        self.keeps_mark = bool(version) and version < (3, 13)
        self.entries: list[SearchEntry] = []
        self.code: list[StartCode] = []
        self._known: set[str] = set()
        self._eggs = 0
        """Entries that stand at the start because an installer put them there: sys.__egginsert."""

    def absolute(self, *parts: str) -> str:
        return str(self.where.path_module.normpath(self.where.join(*parts)))

    def add(self, path: str, origin: SearchOrigin, source: str = "", line: int = 0, *, at: int | None = None) -> bool:
        """Add a folder unless sys.path contains it; return whether it was added."""
        key = str(self.where.path_module.normcase(path))
        if key in self._known:
            return False
        self._known.add(key)
        self._add_entry(SearchEntry(path=path_text(path), origin=origin, source=path_text(source), line=line), at)
        return True

    def _add_entry(self, entry: SearchEntry, at: int | None) -> None:
        self.entries.insert(len(self.entries) if at is None else at, entry)

    def add_site(self, folder: str, origin: SearchOrigin, source: str = "", line: int = 0) -> None:
        """Do what site.addsitedir does: add the folder, then what its .pth files name, even if sys.path contains the folder."""
        self.add(self.absolute(folder), origin, source, line)
        for name in sorted(self.where.names(folder) or ()):
            if name.endswith(".pth"):
                self._add_pth(folder, self.where.join(folder, name))

    def _add_pth(self, folder: str, file: str) -> None:
        before = len(self.entries)
        text = pth_text(self.where.read(file, MAX_PTH_BYTES) or b"", self.version, self.env, self.where.system)
        if text is None:
            self.code.append(StartCode(source=path_text(file)))
            return
        for number, line in enumerate((text if self.keeps_mark else text.removeprefix(MARK)).splitlines(), 1):
            if line.startswith("#") or not line.strip():
                continue
            if line.startswith(("import ", "import\t")):
                self.code.append(
                    _start_code(line.strip(), self.where, source=path_text(file), line=number, text=line.strip()[:200])
                )
                self._run(line, file, number)
                if "sys.__plen" in line and "__egginsert" not in line:
                    before = len(self.entries)
                elif "sys.__egginsert" in line:
                    self._put_first(before)
                continue
            path = self.absolute(folder, line.rstrip())
            if "\0" in path:
                return  # Python ignores the rest of the file.
            if self.where.stat(path) is not None:
                self.add(path, "pth", file, number)

    def _put_first(self, since: int) -> None:
        """Move the latest entries to the start, behind those that were moved before: easy-install.pth of setuptools below 44.1."""
        moved = self.entries[since:]
        self.entries[since:] = []
        self.entries[self._eggs : self._eggs] = moved
        self._eggs += len(moved)

    def _run(self, line: str, file: str, number: int) -> None:
        """Apply what a line of code does to sys.path with a folder that it names."""
        names = PathNames("")
        for statement in statements_of(line):
            match statement:
                case ast.Expr(value=ast.Call(func=func, args=[folder])) if last_name(func) == "addsitedir":
                    if (path := names.value_of(folder)) is not None:
                        known = self._known
                        self._known = {str(self.where.path_module.normcase(e.path)) for e in self.entries}
                        self.add_site(path, "pth", file, number)
                        self._known = known  # A direct call of addsitedir has its own list of known paths.
                case _:
                    for at, path in (p for its in changes_of_path([statement], names) for p in its.places()):
                        entry = SearchEntry(path=path_text(path), origin="pth", source=path_text(file), line=number)
                        self._add_entry(entry, at)


def python_search_path(
    python: Interpreter, env: Mapping[str, str], folder: str, where: Sysroot, *, working: str = ""
) -> PythonSearch:
    """Return sys.path of a program that starts with ``env``; ``folder`` is its script's, empty if it has none.

    ``working``: the folder in which it starts, from which relative entries count; empty where that is ``folder``.
    """
    if where.system == "windows":
        env = {n if n == SYS_PATH else n.upper(): v for n, v in env.items()}
        if pth := own_pth(python, where):
            return msgspec.structs.replace(search_of_pth(python, pth, where, env), any_protobuf=takes_all(env))
    path = _Path(where, python.version, env)
    for text in env.get("PYTHONPATH", "").split(";" if where.system == "windows" else ":"):
        if env.get("PYTHONPATH") and (text or folder):
            path.add(
                path.absolute(working or folder, text) if folder else path.absolute(text), "PYTHONPATH", "PYTHONPATH"
            )
    home = env.get("PYTHONHOME", "").split(";" if where.system == "windows" else ":")
    base = home[0] or python.base
    for entry in _standard_library(python, base, home[-1] or base, where):
        path.add(entry, "standard library")
    _add_packages(path, python, env, base, where)
    entries = path.entries
    for code in _customizations(entries, where):
        text = where.text(code.source, MAX_START_CODE_BYTES) or ""
        if folder and is_of_pdm(text):
            given = env.get("PEP582_PACKAGES", "")
            entries = with_own_packages(entries, code.source, python.short_version, folder, given, where)
        else:
            entries = _changed(entries, code.source, where)
    if folder and not (env.get("PYTHONSAFEPATH") and python.version >= (3, 11)):
        entries = [SearchEntry(path=path_text(folder), origin="start"), *entries]
    entries = [*_with_libraries(entries, where)]
    entries = _with_later(entries, env.get(SYS_PATH, ""))
    code_of_start = tuple(dict.fromkeys((*path.code, *_customizations(entries, where))))
    return PythonSearch(tuple(entries), code_of_start, takes_all(env))


def _with_libraries(entries: list[SearchEntry], where: Sysroot) -> Iterator[SearchEntry]:
    """Yield sys.path with each standard library before Python's own as such: its modules are no person's that hide others."""
    first = next((n for n, e in enumerate(entries) if e.origin == "standard library"), 0)
    for n, entry in enumerate(entries):
        if n < first and is_library(entry.path, where):
            source = entry.source or entry.path
            yield msgspec.structs.replace(entry, origin="standard library", source=source)
        else:
            yield entry


SYS_PATH = "sys.path"
"""In the variables of a way of starting: what a program does to sys.path when it has started. No real variable is called so."""


def later_entries(rows: Iterable[tuple[int | None, str, str, int]]) -> str:
    """Return what a program adds to sys.path as one text: where (None: at its end), the folder, the file and its line."""
    return "\n".join(f"{'' if at is None else at}\t{place}\t{file}\t{line}" for at, place, file, line in rows)


def _with_later(entries: list[SearchEntry], text: str) -> list[SearchEntry]:
    """Return sys.path as a program leaves it that has started: by then it has what it needs of the standard library."""
    out = list(entries)
    front = max((n for n, e in enumerate(out, 1) if e.origin in ("start", "standard library")), default=0)
    for row in text.splitlines():
        at, place, file, line = row.split("\t")
        entry = SearchEntry(path=path_text(place), origin="pth", source=path_text(file), line=whole_number(line) or 0)
        out.insert(front + (whole_number(at) or 0) if at else len(out), entry)
    return out


def own_library(python: Interpreter, env: Mapping[str, str], where: Sysroot) -> str:
    """Return the folder of the interpreter's own standard library."""
    base = env.get("PYTHONHOME", "").split(";" if where.system == "windows" else ":")[0] or python.base
    found = tuple(_standard_library(python, base, base, where))
    return found[2 if where.system == "windows" else 1]


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
    """Do what site.main does: add the folders of a virtual environment, of the user and of the installed Python."""
    settings = python.settings
    alone = settings is not None and settings.get("include-system-site-packages", "true").lower() != "true"
    if settings is not None:
        for folder in _site_folders(python, python.prefix, where):
            path_add(path, folder, "site-packages", where)
    if not alone and not _is_on(env.get("PYTHONNOUSERSITE", "")):
        for folder in user_folder(python.base, python.version, env, where):
            path_add(path, folder, "user site", where)
    if settings is not None:  # site.venv() has added it before; its .pth files run a second time.
        for folder in _site_folders(python, python.prefix, where):
            path_add(path, folder, "site-packages", where)
    if alone:
        return
    for prefix in _further_prefixes(base, python):
        for folder in _site_folders(python, prefix, where):
            path_add(path, folder, "site-packages" if settings is None else "system site-packages", where)


def _is_on(value: str) -> bool:
    """Whether a variable such as PYTHONNOUSERSITE is on: any text except the number 0 (``_Py_get_env_flag``)."""
    return bool(value) and whole_number(value.strip()) != 0


def path_add(path: _Path, folder: str, origin: SearchOrigin, where: Sysroot) -> None:
    """Add a folder of packages if it exists."""
    if where.is_folder(folder):
        path.add_site(folder, origin)


def _further_prefixes(base: str, python: Interpreter) -> Iterator[str]:
    """Yield the prefixes whose package folders are searched: Fedora's own Python adds /usr/local."""
    if base == "/usr" and python.library == "lib64":
        yield "/usr/local"
    yield base


def _site_folders(python: Interpreter, prefix: str, where: Sysroot) -> Iterator[str]:
    """Yield the folders that site.getsitepackages returns for a prefix."""
    if where.system == "windows":
        yield prefix
        yield where.join(prefix, "Lib", "site-packages")
        return
    name = f"python{python.short_version}"
    if python.base in ("/usr", "/") and where.is_folder("/usr/lib/python3/dist-packages"):
        if python.settings is not None:
            yield where.join(prefix, "lib", name, "site-packages")
        yield where.join(prefix, "local/lib", name, "dist-packages")
        yield where.join(prefix, "lib/python3/dist-packages")
        yield where.join(prefix, "lib", name, "dist-packages")
        return
    for library in dict.fromkeys((python.library, "lib")):
        yield where.join(prefix, library, name, "site-packages")


INTERFERES = late_pattern(r"\bmeta_path\b|\bsys\.modules\[[^\]\n]{1,80}\][ \t]*=(?!=)")
"""What lets code answer imports by itself."""

KNOWN_FINDERS = late_pattern(r"_distutils_hack|_virtualenv|__editable__\w+|importlib|sys|os|site")
"""Modules whose finders are known: setuptools', virtualenv's, and those of editable installations."""

MOST_IMPORTED = 100
"""Maximum number of modules beside start-up code that are read."""


def _imported_beside(file: str, text: str, where: Sysroot) -> Iterator[str]:
    """Yield the texts of the modules beside start-up code that it imports."""
    for name in islice(dict.fromkeys(re.findall(r"\bimport[ \t]+([A-Za-z_]\w*)", text)), MOST_IMPORTED):
        if not KNOWN_FINDERS.fullmatch(name):
            for inner in (f"{name}.py", f"{name}/__init__.py"):
                yield where.text(where.join(where.parent(file), *inner.split("/")), MAX_START_CODE_BYTES) or ""


def shows_whole_effect(code: StartCode, where: Sysroot) -> bool:
    """Whether the text shows everything that start-up code does to the search, and that it cannot end the start."""
    if code.source.endswith(".pth") and not code.text:
        return False  # Without text, only a real start shows what Python does with it.
    text = code.text or where.text(code.source, MAX_START_CODE_BYTES) or ""
    if is_of_pdm(text):
        return True
    if re.search(r"\b(exit|_exit|SystemExit|execv\w*)\b", text):
        return False
    if any(INTERFERES.search(its) for its in (text, *_imported_beside(code.source, text, where))):
        return False
    touched = len(re.findall(r"\bsys\.path\b(?!_)", text))
    known = len(path_changes(text, "" if code.text else code.source))
    return not touched or (known > 0 and "sys.path[" not in text and not re.search(r"sys\.path(\[:\])?\s*=[^=]", text))


def _changed(entries: list[SearchEntry], file: str, where: Sysroot) -> list[SearchEntry]:
    """Return sys.path after the start-up code in a file, as far as its text shows."""
    out = list(entries)
    for at, place, line in path_changes(where.text(file, MAX_START_CODE_BYTES) or "", file):
        entry = SearchEntry(path=path_text(place), origin="pth", source=path_text(file), line=line)
        out.insert(len(out) if at is None else at, entry)
    return out


def _start_code(code: str, where: Sysroot, *, source: str, line: int = 0, text: str = "") -> StartCode:
    """Return start-up code with what its text tells of its effect."""
    own = "" if text else source  # a line of a .pth file has no __file__
    stubs = tuple(path_text(file) for file in libraries_loaded(code, own) if is_driver_stub(file, where))
    return StartCode(source=source, line=line, text=text, sets=variables_set(code, own), stubs=stubs)


def _customizations(entries: list[SearchEntry], where: Sysroot) -> Iterator[StartCode]:
    for name in ("sitecustomize", "usercustomize"):
        for entry in entries:
            if entry.origin != "start" and where.is_file(file := where.join(entry.path, f"{name}.py")):
                text = where.text(file, MAX_START_CODE_BYTES) or ""
                yield _start_code(text, where, source=path_text(file))
                break


# --- ._pth: an interpreter of Windows with its own search -------------------------------------------------------------


def own_pth(python: Interpreter, where: Sysroot) -> str:
    """Return the ._pth file beside an interpreter of Windows: python311._pth, or one named after the program."""
    for folder in dict.fromkeys((where.parent(python.executable) if python.executable else "", python.base)):
        stem = where.name(python.executable).rpartition(".")[0]
        for name in (f"{stem}._pth", f"python{python.version[0]}{python.version[1]}._pth"):
            if folder and stem and where.is_file(file := where.join(folder, name)):
                return file
    return ""


def search_of_pth(python: Interpreter, file: str, where: Sysroot, env: Mapping[str, str] | None = None) -> PythonSearch:
    """Return the search that a ._pth file defines: its lines only, and if it imports site, site-packages, and the person's own with ``env``."""
    path, folder, with_site = _Path(where, python.version), where.parent(file), False
    for number, line in enumerate((where.text(file, MAX_PTH_BYTES) or "").lstrip("\ufeff").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if text == "import site":
            with_site = True
        elif text and not text.startswith("import "):
            path.add(path.absolute(folder, text), "._pth", file, number)
    if with_site:
        if env and not _is_on(env.get("PYTHONNOUSERSITE", "")) and takes_persons_packages(python.prefix, where):
            for site in user_folder(python.base, python.version, env, where):
                path_add(path, site, "user site", where)
        for site in _site_folders(python, python.prefix, where):
            path_add(path, site, "site-packages", where)
    return PythonSearch(tuple(path.entries), tuple(path.code))
