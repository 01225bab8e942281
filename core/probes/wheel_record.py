"""A wheel's RECORD: which files it installed, their sizes and hashes."""

from __future__ import annotations

import base64
import binascii
import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from core.common.versions import whole_number
from core.model.facts import Distribution, Frozen, RecordState
from core.probes.sysroot import Sysroot

MAX_WHEEL_RECORD_BYTES = 64 << 20
"""Maximum number of bytes read of a RECORD; torch's has about 2 MiB."""


class RecordRow(Frozen, frozen=True, kw_only=True):
    """RECORD's row for one file."""

    sha256: str = ""
    """Lower-case hexadecimal; empty when RECORD has none."""
    size: int | None = None


def record_rows(distribution: Distribution, wanted: str, where: Sysroot) -> dict[str, RecordRow]:
    """Return path -> row for the lines of a distribution's RECORD that match the pattern ``wanted``; {} without RECORD.

    Paths are those of the examined system, joined to the distribution's folder of packages.
    """
    record = read_record(distribution, where)
    lines: dict[str, None] = {}
    for m in re.finditer(wanted or r"(?m)^.", record):  # imported late: of ten thousand lines a few matter
        begin, end = record.rfind("\n", 0, m.start()) + 1, record.find("\n", m.start())
        lines[record[begin : end if end >= 0 else None].rstrip("\r")] = None
    join, normalise = where.join, where.path_module.normpath
    return {str(normalise(join(distribution.location, path))): row for path, row in parse_rows(lines)}


def read_record(distribution: Distribution, where: Sysroot) -> str:
    """Return a distribution's RECORD; of an egg, which has none, its files; empty if there is neither."""
    if distribution.location.endswith(".egg"):
        return "".join(f"{path},,\n" for path in _in_egg(distribution.location, where))
    for spelt in dict.fromkeys((distribution.name.replace("-", "_"), distribution.name)):
        info = where.join(distribution.location, f"{spelt}-{distribution.version}.dist-info", "RECORD")
        data = where.read(info, MAX_WHEEL_RECORD_BYTES)
        if data is not None:
            return data.decode("utf-8", "replace")
    other = _spelt_otherwise(distribution, where)
    data = where.read(where.join(distribution.location, other, "RECORD"), MAX_WHEEL_RECORD_BYTES) if other else None
    return data.decode("utf-8", "replace") if data is not None else ""


def _in_egg(folder: str, where: Sysroot, above: str = "", levels: int = 3) -> Iterator[str]:
    """Yield the files of an egg's upper folders, as a RECORD would list them."""
    for name in where.names(folder) or ():
        path = where.join(folder, name)
        if name != "EGG-INFO" and where.is_folder(path) and levels > 1:
            yield from _in_egg(path, where, f"{above}{name}/", levels - 1)
        elif where.is_file(path):
            yield above + name


def _spelt_otherwise(distribution: Distribution, where: Sysroot) -> str:
    """Return the folder of a distribution's metadata, spelt as its author does: "PyYAML-6.0.2.dist-info"; empty without one."""
    wanted = re.compile(
        rf"{re.escape(distribution.name).replace(re.escape('-'), '[-_.]+')}-{re.escape(distribution.version)}[.]dist-info",
        re.IGNORECASE,
    )
    return next((n for n in where.names(distribution.location) or () if wanted.fullmatch(n)), "")


def installed_by_conda(what: Distribution, where: Sysroot) -> bool:
    """Whether conda installed a distribution; it rewrites files after their RECORD was written."""
    folder = f"{what.name.replace('-', '_')}-{what.version}.dist-info"
    return "conda" in (where.text(where.join(what.location, folder, "INSTALLER"), 64) or "")


def parse_rows(lines: Iterable[str]) -> Iterator[tuple[str, RecordRow]]:
    """Yield the file of each line of a RECORD, as it is written there, with its row; a line that is none (csv takes 128 KiB a
    field) is left out.
    """
    for line in lines:
        if line.count(",") >= 2:
            with suppress(csv.Error, StopIteration):
                path, digest, size = [*next(csv.reader([line])), "", ""][:3]
                yield path, RecordRow(sha256=_hexadecimal(digest), size=whole_number(size))


def _hexadecimal(digest: str) -> str:
    kind, _, value = digest.partition("=")
    if kind != "sha256":
        return ""
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    except (binascii.Error, ValueError):
        return ""


def record_state(row: RecordRow | None, size: int | None, sha256: str) -> RecordState:
    """Return how a file of this size and hash compares with RECORD (empty hash: only the size is compared)."""
    if row is None:
        return "not listed"
    if row.size is not None and size is not None and row.size != size:
        return "size differs"
    if sha256 and row.sha256:
        return "matches" if sha256 == row.sha256 else "hash differs"
    return "unchecked"
