"""The text of a .pth file as Python reads it: one that holds other letters than ASCII's may come to another folder's name.

Source: addpackage in Lib/site.py. Until 3.12 the locale's encoding decides, on Windows the ANSI code page but in UTF-8 mode; since 3.13 a file
is UTF-8 if it can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core.common.variable_names import variable_in
from core.common.versions import whole_number
from core.probes.sysroot import Sysroot

MAX_PTH_BYTES = 256 << 10
"""Maximum size in bytes of a .pth file."""

LOCALE = "mbcs"
"""Windows' ANSI code page, a name that only Python on Windows knows."""
SINCE_UTF_8 = (3, 13)


def pth_text(data: bytes, version: tuple[int, ...], env: Mapping[str, str], system: str) -> str | None:
    """Return the text that a Python of this version reads; None where that is not known. ``env``: its variables."""
    if data.isascii():
        return data.decode("ascii")
    utf_8 = _decoded(data, "utf-8")
    if system != "windows" or not version:
        return utf_8
    if version >= SINCE_UTF_8:
        return utf_8 if utf_8 is not None else _decoded(data, LOCALE)
    asked = variable_in(env, "PYTHONUTF8")
    return utf_8 if whole_number(asked.strip()) == 1 else _decoded(data, LOCALE)


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def folders_named(folder: str, where: Sysroot) -> Iterator[tuple[str, int, str]]:
    """Yield file, line and folder of each line by which a .pth file of a folder adds another one, whether Python reads the file or not."""
    for file in (where.join(folder, n) for n in where.names(folder) or () if n.lower().endswith(".pth")):
        for number, line in enumerate((where.text(file, MAX_PTH_BYTES) or "").splitlines(), 1):
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                yield file, number, str(where.path_module.normpath(where.join(folder, line.strip())))
