"""Wheels of the index that pip is configured for: their list (PEP 691), and their bytes where they are asked, by range requests."""

from __future__ import annotations

import io
import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urljoin

from core.common.versions import version_tuple

BLOCK = 256 * 1024
"""Bytes of one range request."""
ONWARD = 16
"""Blocks of one request when a file is read from one end to the other."""
LISTING = "application/vnd.pypi.simple.v1+json"
PLAIN_RELEASE = re.compile(r"\d+(\.\d+)*(\.post\d+)?")

Fetch = Callable[[int, int], bytes]
"""Return the bytes from the first to (without) the second number."""


@dataclass(frozen=True)
class IndexFile:
    """One wheel of an index."""

    name: str
    url: str
    size: int
    sha256: str
    uploaded: str
    """Its day."""

    @property
    def version(self) -> str:
        """The release, as the name says it."""
        return self.name.split("-")[1]

    @property
    def python(self) -> str:
        """The Python that it is for: cp312; py3 for any."""
        return self.name.split("-")[-3]

    @property
    def free_threaded(self) -> bool:
        """Whether it is for a Python without its global lock: cp314t."""
        return self.name.split("-")[-2].endswith("t")


class Ranged(io.RawIOBase):
    """A file that is read over a network, block by block: for the directory at the end of an archive, and a file in it."""

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
        found = bytearray()
        while self.at < stop:
            number, start = divmod(self.at, BLOCK)
            if number not in self.blocks:
                self._fetch_from(number)
            piece = self.blocks[number][start : start + stop - self.at]
            if not piece:
                break
            found += piece
            self.at += len(piece)
        return bytes(found)

    def _fetch_from(self, number: int) -> None:
        """Fetch a block, and those behind it when the one before it was read: then somebody reads on."""
        many = ONWARD if number - 1 in self.blocks else 1
        data = self.fetch(number * BLOCK, min(self.size, (number + many) * BLOCK))
        for at in range(0, len(data), BLOCK):
            self.blocks.setdefault(number + at // BLOCK, data[at : at + BLOCK])


def pip_index() -> str:
    """Return the address of the index that pip would ask here, by its configuration, variables and default."""
    # pip tells it nowhere else: "pip config" knows what is configured, and not what it takes otherwise
    from pip._internal.commands import create_command

    return str(create_command("download").parse_args([])[0].index_url)


def releases(package: str, newest: int, index: str) -> Iterator[tuple[str, list[IndexFile]]]:
    """Yield the newest plain releases that an index has, the newest first, each with its wheels that nobody withdrew.

    Raises:
        OSError: the index does not answer, or has no listing in JSON.
    """
    page = f"{index.rstrip('/')}/{package}/"
    listed = json.loads(get(page, Accept=LISTING))["files"]
    wheels = [
        IndexFile(
            name=f["filename"],
            url=urljoin(page, f["url"]),
            size=f.get("size", 0),
            sha256=f["hashes"].get("sha256", ""),
            uploaded=f.get("upload-time", "")[:10],
        )
        for f in listed
        if f["filename"].endswith(".whl") and not f.get("yanked")
    ]
    plain = sorted((w for w in wheels if PLAIN_RELEASE.fullmatch(w.version)), key=lambda w: version_tuple(w.version))
    by_release = [(version, list(files)) for version, files in groupby(plain, key=lambda w: w.version)]
    yield from by_release[::-1][:newest]


def opened(file: IndexFile) -> Ranged:
    """Return a wheel of an index as a file."""
    return Ranged(lambda start, stop: get(file.url, Range=f"bytes={start}-{stop - 1}"), file.size)


def get(url: str, **headers: str) -> bytes:
    """Return what an address has.

    Raises:
        OSError: it is not asked over https, or sends no ranges where one is asked for.
    """
    if not url.startswith("https://"):
        raise OSError(f"not read over https: {url}")
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - https alone
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - https alone
        if "Range" in headers and answer.status != 206:
            raise OSError(f"the index sends no ranges: {url}")
        data: bytes = answer.read()
        return data
