"""``python -m installer.notices``: write resources/notices anew after a change of the locked requirements.

The notices stand in every form of Convalesce, so that About can show them without a network: one file that says what
there is, and the licence texts. Those of Python packages are copied from the packages; the others lie there already.
"""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from pathlib import Path

from installer.by_hand import by_hand
from installer.parts import BOOTLOADER, DEBIAN, QT, Part, packages

FOLDER = Path(__file__).parents[1] / "resources" / "notices"
HEAD = """Convalesce is free software under the Apache License 2.0. It contains or uses
the works of others that are named here, each under its own licence. The texts
of these licences follow.

"""
QT_WORDS = """Qt and Qt for Python (PySide6, Shiboken) are used under the GNU Lesser General
Public License 3.0. They lie in the application's folder as files of their own:
you may replace them by a build of your own, and take the application apart to
find faults in such a change. Their source is at https://download.qt.io, and
what they contain in turn is listed at
https://doc.qt.io/qt-6/licenses-used-in-qt.html.
Qt contains ICU, under the Unicode licence.

"""
FROZEN_WORDS = f"""The installed application, which needs no Python of yours, contains further:
    CPython                           Python-2.0
    PyInstaller's bootloader          {BOOTLOADER}
        The exception lets it stand in front of any program, without a condition
        for that program.
on Windows Microsoft's C++ run time, distributable code that comes with CPython
and Qt for Python,
and on Linux, in the tarball, these libraries of Debian, whose copyright files
lie in its folder "licences" (the Debian package uses those of your system):
"""
WITHOUT_TEXT = ("pyside6-essentials", "shiboken6", "nvidia-ml-py")
"""Packages that bring no text: Qt's is the LGPL, and NVIDIA's stands in its module."""


def summary(parts: tuple[Part, ...]) -> str:
    """Return the first file of the notices."""
    rows = [f"    {part.name + ' ' + part.version:34}{part.licence}" for part in parts]
    libraries = [f"    {name:34}{licence}" for name, licence in sorted(DEBIAN.items())]
    return "\n".join((HEAD + "\n".join(rows), "", QT_WORDS + FROZEN_WORDS + "\n".join(libraries), ""))


def text(part: Part) -> str:
    """Return the licence texts that a package brings, with the files' names where there are several."""
    files = [f for f in distribution(part.name).files or () if ".dist-info" in str(f) and "LICENSE" in f.name.upper()]
    texts = [(f.name, f.locate().read_text(encoding="utf-8").strip()) for f in sorted(files)]  # type: ignore[attr-defined]  # a path
    return "\n\n".join(f"{name}\n\n{content}" if len(texts) > 1 else content for name, content in texts) + "\n"


def main() -> int:
    """Write the files."""
    parts = packages()
    (FOLDER / "third-party.txt").write_text(summary(parts), encoding="utf-8")
    for part in parts:
        if part.name not in WITHOUT_TEXT:
            (FOLDER / f"{part.name}.txt").write_text(text(part), encoding="utf-8")
    assert QT == "LGPL-3.0-only", "the words about Qt say which licence"
    return 0


if __name__ == "__main__":
    by_hand(__doc__)
    sys.exit(main())
