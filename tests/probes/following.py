"""Programs and packages laid out in folders, read as a scan does, and run by Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from core.model.facts import Distribution, EndedImport, SearchEntry
from core.probes.python.installed.unfit_extensions import NOTHING_SUSPECT, Suspects
from core.probes.python.programs.followed_programs import ends_of_programs
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot


def lay_out(root: Path, programs: Mapping[str, str], installed: Mapping[str, str], end: str = "\n") -> None:
    """Write programs into the folder ``work``, and packages into ``site``; ``end``: of each line."""
    for folder, files in ((root / "work", programs), (root / "site", installed)):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.replace("\n", end).encode())


def ends_in(root: Path, *distributions: Distribution, suspects: Suspects = NOTHING_SUSPECT) -> tuple[EndedImport, ...]:
    """Return where the programs end, by reading."""
    entries = (
        SearchEntry(path=str(root / "work"), origin="start"),
        SearchEntry(path=str(root / "none"), origin="standard library"),
        SearchEntry(path=str(root / "site"), origin="site-packages"),
    )
    python = Interpreter("/", "/", sys.version_info[:2], sys.executable, None, "lib")
    where = Sysroot(system="linux")
    search = ModuleSearch(python, PythonSearch(entries), "x86_64", where)
    return ends_of_programs(search, distributions, where, suspects=suspects)


def python_fails(root: Path) -> bool:
    """Whether Python ends with an error when it imports ``main``."""
    paths = f"sys.path[:0] = [{str(root / 'work')!r}]; sys.path.append({str(root / 'site')!r})"
    argv = [sys.executable, "-I", "-B", "-c", f"import sys; {paths}; import main"]
    return subprocess.run(argv, capture_output=True, check=False).returncode != 0
