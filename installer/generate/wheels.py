"""Take facts from real wheels: ``python -m installer.generate.wheels PACKAGE|FILE.whl ... [--newest N] [--out FILE]``.

Of a package, for each release one wheel for Linux, one for Linux on ARM and one for Windows is asked, by range requests: its
METADATA (what it requires of NVIDIA's packages) and the list of its files (which of CUDA's and cuDNN's libraries it brings). A
file that "pip download" has fetched is read whole: also the processor that its libraries are for, and what they need of CUDA.
Prints or writes JSON, each row with the wheel's name and hash. Nothing is installed or run.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from email.parser import BytesParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from core.common.versions import version_tuple
from core.knowledge.library_names import parse_library_name
from core.loader.read_image import read_image

NEWEST = 6
"""Releases that are read unless more are asked for."""
BLOCK = 256 * 1024
"""Bytes of one range request."""
SYSTEMS = {
    "linux": re.compile(r"-(?:many)?linux.*_x86_64\.whl$"),
    "linux-aarch64": re.compile(r"-(?:many)?linux.*_aarch64\.whl$"),
    "windows": re.compile(r"-win_amd64\.whl$"),
}
LIBRARY = re.compile(r"\.(?:so(?:\.\d+)*|dll|pyd)$", re.IGNORECASE)
WANTED = re.compile(r"nvidia[-_]|tensorrt|triton|^cuda[-_]|^(?:torch|numpy|jaxlib|jax-cuda)", re.IGNORECASE)

OTHERS = ("framework", "vcruntime", "zlibwapi")
"""Families of library names that are not CUDA's."""

Fetch = Callable[[int, int], bytes]
"""Return the bytes from the first to (without) the second number."""


class Ranged(io.RawIOBase):
    """A file that is read over a network, block by block: for the directory at the end of an archive."""

    def __init__(self, fetch: Fetch, size: int) -> None:
        super().__init__()
        self.fetch, self.size, self.at = fetch, size, 0
        self.blocks: dict[int, bytes] = {}

    def seekable(self) -> bool:
        """Whether it can be read from any place."""
        return True

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def tell(self) -> int:
        """Return the place."""
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes; only blocks that were not yet read are fetched."""
        stop = self.size if count < 0 else min(self.size, self.at + count)
        found = b""
        while self.at < stop:
            number, start = divmod(self.at, BLOCK)
            if number not in self.blocks:
                self.blocks[number] = self.fetch(number * BLOCK, min(self.size, (number + 1) * BLOCK))
            piece = self.blocks[number][start : start + stop - self.at]
            if not piece:
                break
            found += piece
            self.at += len(piece)
        return found


def contents(fetch: Fetch, size: int) -> tuple[list[str], bytes]:
    """Return the names of a wheel's files and its METADATA."""
    with zipfile.ZipFile(Ranged(fetch, size)) as wheel:
        names = wheel.namelist()
        metadata = next(n for n in names if n.endswith(".dist-info/METADATA"))
        return names, wheel.read(metadata)


def facts(names: Sequence[str], metadata: bytes) -> dict[str, Any]:
    """Return what a wheel requires of NVIDIA's packages, and which libraries of CUDA and cuDNN it brings."""
    told = BytesParser().parsebytes(metadata)
    requires = [r for r in told.get_all("Requires-Dist") or () if WANTED.search(r)]
    libraries = {n.rsplit("/", 1)[-1] for n in names if parse_library_name(n.rsplit("/", 1)[-1].lower())}
    return {"requires": sorted(requires), "libraries": sorted(libraries)}


def read_wheel(path: Path) -> dict[str, Any]:
    """Return what a wheel on disk holds: requirements, libraries, the processors that they are for, and what they need of CUDA."""
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        names = sorted(n for n in wheel.namelist() if LIBRARY.search(n))
        metadata = wheel.read(next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")))
        processors: set[str] = set()
        needs: set[str] = set()
        for name in names:
            file = Path(wheel.extract(name, folder))
            image = read_image(file)
            processors.add(image.architecture)
            needs |= {n for n in image.needed if (its := parse_library_name(n.lower())) and its.family not in OTHERS}
            file.unlink()
    told = BytesParser().parsebytes(metadata)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {
        "package": told["Name"],
        "version": told["Version"],
        "system": next(s for s, form in SYSTEMS.items() if form.search(path.name)),
        "requires": facts((), metadata)["requires"],
        "processors": sorted(processors - {""}),
        "needs": sorted(needs),
        "libraries": names,
        "source": path.name,
        "sha256": digest,
    }


def one_each(files: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each system the wheel for the newest Python."""
    for system, form in SYSTEMS.items():
        wheels = [
            f for f in files if f["packagetype"] == "bdist_wheel" and not f["yanked"] and form.search(f["filename"])
        ]
        if wheels:
            yield (
                system,
                max(wheels, key=lambda f: _python(f["filename"])),
            )


def _python(filename: str) -> int:
    found = re.search(r"-cp3(\d+)-", filename)
    return int(found[1]) if found else 0


def harvest(package: str, newest: int, index: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each release and system."""
    listed = json.loads(_get(f"{index}/pypi/{package}/json"))["releases"]
    plain = [v for v in listed if re.fullmatch(r"\d+(\.\d+)*(\.post\d+)?", v) and listed[v]]
    for version in sorted(plain, key=version_tuple, reverse=True)[:newest]:
        for system, file in one_each(listed[version]):
            url = urljoin(f"{index}/simple/{package}/", file["url"])
            names, metadata = contents(lambda a, b, url=url: _get(url, f"bytes={a}-{b - 1}"), file["size"])  # type: ignore[misc]
            yield {
                "package": package,
                "version": version,
                "system": system,
                **facts(names, metadata),
                "source": file["filename"],
                "sha256": file["digests"]["sha256"],
                "uploaded": file["upload_time"][:10],
            }


def _get(url: str, byte_range: str = "") -> bytes:
    if not url.startswith("https://"):
        raise OSError(f"not read over https: {url}")
    request = urllib.request.Request(url, headers={"Range": byte_range} if byte_range else {})  # noqa: S310 - https alone
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - https alone
        if byte_range and answer.status != 206:
            raise OSError(f"the index sends no ranges: {url}")
        data: bytes = answer.read()
        return data


def table_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table as it is written: a row a line, and the day of reading; never where it was read."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return f'{{\n "known_until": "{datetime.now(UTC).date().isoformat()}",\n "wheels": [\n{lines}\n ]\n}}\n'


def main(arguments: Sequence[str]) -> int:
    """Print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m installer.generate.wheels", description=__doc__)
    parser.add_argument("packages", nargs="+", metavar="PACKAGE|FILE.whl")
    parser.add_argument("--newest", type=int, default=NEWEST, metavar="N")
    parser.add_argument("--index", default="", metavar="ADDRESS", help="of an index: what stands before /simple")
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    index = options.index.rstrip("/")
    files = [Path(p) for p in options.packages if p.endswith(".whl")]
    packages = [p for p in options.packages if not p.endswith(".whl")]
    if packages and not index:
        parser.error("a package is asked from an index: --index ADDRESS")
    rows = [read_wheel(file) for file in files]
    rows += [row for package in packages for row in harvest(package, options.newest, index)]
    text = table_text(rows)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
