"""Wheels packed again from what is installed: for a machine, or a test, that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

LEFT_OUT = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
"""What an installer adds to a wheel's files, and what is written anew."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(site: Path) -> dict[str, Distribution]:
    """Return the distributions in a folder of packages by their names."""
    return {canonical(d.metadata["Name"]): d for d in distributions(path=[str(site)])}


def files_of(one: Distribution) -> Iterator[str]:
    """Yield the files of a distribution that lie in the folder of packages, relative to it."""
    for path in one.files or ():
        if ".." not in path.parts and not str(path).startswith("/"):
            yield str(path)


def pack(into: Path, name: str, version: str, tag: str, members: dict[str, Path | bytes]) -> Path:
    """Write a wheel of files; RECORD comes last."""
    info = f"{name}-{version}.dist-info"
    path = into / f"{name}-{version}-{tag}.whl"
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for at, what in members.items():
            if isinstance(what, bytes):
                archive.writestr(at, what)
                digest, size = hashlib.sha256(what).digest(), len(what)
            else:
                archive.write(what, at)
                with what.open("rb") as stream:
                    digest, size = hashlib.file_digest(stream, "sha256").digest(), what.stat().st_size
            rows.append(f"{at},sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()},{size}\n")
        archive.writestr(f"{info}/RECORD", "".join(rows) + f"{info}/RECORD,,\n")
    return path


def packed_again(into: Path, site: Path, one: Distribution) -> Path:
    """Return the wheel of an installed distribution, made of its files."""
    info = next(p for p in files_of(one) if p.endswith(".dist-info/WHEEL")).partition("/")[0]
    tags = re.findall(r"^Tag: *(\S+)", (site / info / "WHEEL").read_text(), re.MULTILINE)
    tag = "-".join(".".join(dict.fromkeys(t.split("-")[i] for t in tags)) for i in range(3))
    spelt, version = info.removesuffix(".dist-info").rsplit("-", 1)
    kept = [
        r for r in files_of(one) if "__pycache__" not in r and not (r.startswith(info) and Path(r).name in LEFT_OUT)
    ]
    return pack(into, spelt, version, tag, {r: site / r for r in kept if (site / r).is_file()})
