"""What an installed Convalesce consists of: each part with its version, its licence and its files.

One table for the notices, for the bills of materials, and for the check that no file is in an artefact whose licence
nobody looked up.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.metadata import distribution, version
from pathlib import Path

from packaging.requirements import Requirement

QT = "LGPL-3.0-only"
"""Qt and its Python bindings are also offered under the GPL; Convalesce uses them under the LGPL."""


@dataclass(frozen=True)
class Part:
    """A work of somebody else's: its SPDX licence, and the patterns of its files in a frozen folder."""

    name: str
    version: str
    licence: str
    kind: str = "pypi"
    """Kind of its package URL: pypi, deb or generic."""
    files: tuple[str, ...] = ()
    home: str = ""
    """Where it comes from; empty for a Debian package, whose name says it."""


PYPI = {
    "msgspec": Part("msgspec", "", "BSD-3-Clause", files=("msgspec/*",)),
    "nvidia-ml-py": Part("nvidia-ml-py", "", "BSD-3-Clause"),
    "packaging": Part("packaging", "", "Apache-2.0 OR BSD-2-Clause"),
    "pefile": Part("pefile", "", "MIT"),
    "platformdirs": Part("platformdirs", "", "MIT"),
    "pyelftools": Part("pyelftools", "", "Unlicense"),
    "pyside6-essentials": Part("pyside6-essentials", "", QT, files=("PySide6/*.so*", "PySide6/*.pyd", "*pyside6*.*")),
    "shiboken6": Part("shiboken6", "", QT, files=("shiboken6/*", "*shiboken6*.*")),
}
PYTHON = ("libpython3*", "python3*", "base_library.zip", "*/lib-dynload/*", "lib-dynload/*", "*.pyd")
"""CPython's own files; on Windows also the libraries that python.org builds it with, which its licence text names."""
PYTHON_ON_WINDOWS = ("libcrypto-*.dll", "libssl-*.dll", "libffi-*.dll", "vcruntime140*.dll", "sqlite3.dll")
BOOTLOADER = "GPL-2.0-or-later WITH Bootloader-exception"
DEBIAN = {
    "libbz2": "bzip2-1.0.6",
    "libcom-err": "MIT",
    "libffi": "MIT",
    "libglib2.0": "LGPL-2.1-or-later",
    "libgssapi-krb5": "MIT",
    "libk5crypto": "MIT",
    "libkeyutils": "LGPL-2.0-or-later",
    "libkrb5": "MIT",
    "liblzma": "0BSD",
    "libpcre2": "BSD-3-Clause",
    "libssl": "Apache-2.0",
    "libxcb": "MIT",
    "libxkbcommon": "MIT",
    "libzstd": "BSD-3-Clause",
}
"""Start of a Debian package's name -> licence of the library in it, from its copyright file in Debian 12."""


def packages() -> tuple[Part, ...]:
    """Return the Python packages that Convalesce brings: what it requires, and what those require.

    Raises:
        KeyError: one has not been looked up yet: give it a row in PYPI.
    """
    found: dict[str, Part] = {}
    ahead = [Requirement(line) for line in distribution("convalesce").requires or ()] if _installed() else _declared()
    while ahead:
        requirement = ahead.pop()
        name = requirement.name.lower()
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        known = PYPI[name]
        found[name] = Part(name, version(name), known.licence, files=known.files, home=_home(name))
        ahead += [Requirement(line) for line in distribution(name).requires or ()]
    return tuple(found[name] for name in sorted(found))


def locked_hashes() -> dict[str, tuple[str, ...]]:
    """Return the SHA-256 of every file that the lock allows for each package: one for each system and Python."""
    text = (Path(__file__).parents[1] / "requirements/build.txt").read_text(encoding="utf-8")
    return {
        entry.partition("==")[0].lower(): tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
        for entry in re.split(r"\n(?=\w)", text.replace("\\\n", " "))
        if "==" in entry.partition(" ")[0]
    }


def _home(name: str) -> str:
    told = distribution(name).metadata
    links = dict(line.split(", ", 1) for line in told.get_all("Project-URL") or ())
    return links.get("Homepage") or links.get("Source") or told.get("Home-page") or ""


def _installed() -> bool:
    try:
        return bool(distribution("convalesce"))
    except ModuleNotFoundError:
        return False


def _declared() -> list[Requirement]:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [Requirement(line) for line in project["dependencies"]]


def frozen_in() -> tuple[Part, ...]:
    """Return what is in a frozen application besides Python packages and the system's libraries."""
    qt = version("pyside6-essentials")
    python = sys.version.split()[0]
    windows = PYTHON_ON_WINDOWS if sys.platform == "win32" else ()
    return (
        Part("cpython", python, "Python-2.0", "generic", (*PYTHON, *windows), "https://www.python.org/"),
        Part("icu", "73", "ICU", "generic", ("*libicu*", "icu*.dll"), "https://icu.unicode.org/"),
        Part("pyinstaller-bootloader", version("pyinstaller"), BOOTLOADER, "generic", ("convalesce*",), "https://pyinstaller.org/"),
        Part("qt", qt, QT, "generic", ("PySide6/Qt/*", "*Qt6*", "PySide6/plugins/*", "PySide6/translations/*"), "https://www.qt.io/"),
    )  # fmt: skip


def debian(folder: Path) -> tuple[Part, ...]:
    """Return the Debian packages whose libraries lie in a frozen folder's top level.

    Raises:
        KeyError: one has not been looked up yet: give it a row in DEBIAN.
    """
    from installer.linux.elf import packages as owners

    found: dict[str, Part] = {}
    names = {f.name for f in folder.glob("lib*.so*") if not f.is_symlink() and not f.name.startswith("libpython")}
    for library, package in owners(names).items():
        query = ["dpkg-query", "-W", "-f", "${Version}", package]
        number = subprocess.run(query, capture_output=True, text=True, check=True).stdout
        licence = next((spdx for start, spdx in DEBIAN.items() if package.startswith(start)), None)
        if licence is None:
            raise KeyError(f"{package} ({library}) has no row in DEBIAN")
        files = (*(found[package].files if package in found else ()), library)
        found[package] = Part(package, number, licence, "deb", files)
    return tuple(found[package] for package in sorted(found))


def unknown(folder: Path, parts: tuple[Part, ...]) -> Iterator[str]:
    """Yield the files of a frozen folder (its ``_internal``) that belong to none of the parts and are not ours."""
    patterns = [pattern for part in parts for pattern in part.files]
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        ours = name.startswith("resources/") or re.fullmatch(r"convalesce-[^/]*\.dist-info/.*", name)
        if file.is_file() and not ours and not any(fnmatch(name, pattern) for pattern in patterns):
            yield name
