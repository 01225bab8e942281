"""Take releases in: ``python -m installer.generate.tables [PACKAGE ...] [--newest N] [--again] [--offline]``.

Reads the newest wheels of each package by range requests into ``tests/knowledge/releases.json`` (``wheels``), writes what they
say into the tables of ``resources/knowledge``, and prints every line that changed in either. A fact that no wheel of the
index states stays as it is: other builds than the default one, drivers, and code that a wheel holds in large libraries.
A row that a wheel contradicts is rewritten, with the wheel as its source; machine code that is contradicted is named only,
since such a row speaks for several releases. ``known_until`` of a table is the day on which the newest wheel that it is
written from came out. A wheel that was read before is not read again: a second run changes nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from installer.generate import framework_rows, needs, nvidia_rows, wheels
from installer.generate.rows import Row, dated, difference, newest_day, written

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "resources" / "knowledge"
RELEASES = ROOT / "tests" / "knowledge" / "releases.json"
Updated = tuple[str, list[str]]
"""A table's text, and a line for each change and each contradiction."""


@dataclass(frozen=True)
class Package:
    """A package that is read: of its newest releases, libraries of at most so many packed megabytes."""

    name: str
    code: int = 0
    last: bool = False
    """Only the last patch of each minor release."""


PACKAGES = (
    Package("torch", code=12),
    *(Package(name) for name in framework_rows.PACKAGES if name != "torch"),
    Package("onnxruntime-gpu"),
    Package("ctranslate2", code=26),
    *(Package(name, code=40, last=True) for name in nvidia_rows.CUDNN),
    *(Package(name, last=True) for name in (*nvidia_rows.NVCC, *nvidia_rows.NVRTC, nvidia_rows.TOOLKIT)),
)
NEWEST = 2


def frameworks(text: str, releases: Sequence[Row]) -> Updated:
    """Return frameworks.json by the wheels."""
    text, said = framework_rows.updated(text, releases)
    return dated(text, newest_day(releases, framework_rows.PACKAGES)), said


def cudnn(text: str, releases: Sequence[Row]) -> Updated:
    """Return cudnn.json by the wheels."""
    old = json.loads(text)["frameworks"]
    new = needs.framework_rows(old, releases)
    packages = (*nvidia_rows.CUDNN, *(its.package for its in needs.FRAMEWORKS))
    text = dated(written(text, "frameworks", new), newest_day(releases, packages))
    return text, difference("frameworks", old, new)


def compatibility(text: str, releases: Sequence[Row]) -> Updated:
    """Return compatibility.json by the wheels."""
    table = json.loads(text)
    code, against = nvidia_rows.merged_code(table["cudnn"], list(nvidia_rows.cudnn_code_rows(releases)))
    read = nvidia_rows.host_compiler_rows(releases)
    told = {row["cuda"] for row in read}
    compilers = [row for row in table["host_compilers"] if row["cuda"] not in told] + read
    said = difference("cudnn", table["cudnn"], code) + difference("host_compilers", table["host_compilers"], compilers)
    for section, rows in (("cudnn", code), ("host_compilers", compilers)):
        text = written(text, section, rows)
    against += nvidia_rows.untold_toolkits(table["toolkits"], releases)
    packages = (*nvidia_rows.CUDNN, *nvidia_rows.NVCC, *nvidia_rows.NVRTC)
    return dated(text, newest_day(releases, packages)), said + against


def gpus(text: str, releases: Sequence[Row]) -> Updated:
    """Return gpus.json, whose rows are those of the compilers that were asked."""
    return dated(text, newest_day(releases, nvidia_rows.NVRTC)), []


def cuda_wheels(text: str, releases: Sequence[Row]) -> Updated:
    """Return cuda_wheels.json by the wheels."""
    old, new = json.loads(text)["releases"], nvidia_rows.cuda_release_rows(releases)
    text = dated(written(text, "releases", new), newest_day(releases, (nvidia_rows.TOOLKIT,)))
    return text, difference("releases", old, new)


UPDATES = {
    "frameworks": frameworks,
    "cudnn": cudnn,
    "compatibility": compatibility,
    "cuda_wheels": cuda_wheels,
    "gpus": gpus,
}
"""Each table of resources/knowledge that is written from wheels."""


def read(packages: Sequence[Package], newest: int, *, again: bool) -> None:
    """Read the packages' wheels into ``RELEASES``, and print what changed there."""
    for package in packages:
        options = [*(["--last"] if package.last else []), *(["--again"] if again else [])]
        wheels.main(
            [package.name, "--newest", str(newest), "--code", str(package.code), *options, "--out", str(RELEASES)]
        )


def main(arguments: Sequence[str]) -> int:
    """Read the wheels, write the tables, and print the difference."""
    parser = argparse.ArgumentParser(prog="python -m installer.generate.tables", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="; ".join(p.name for p in PACKAGES))
    parser.add_argument("--newest", type=int, default=NEWEST, metavar="N")
    parser.add_argument("--again", action="store_true", help="read also the wheels that were read before")
    parser.add_argument("--offline", action="store_true", help="take what releases.json already has")
    options = parser.parse_args(arguments)
    if not options.offline:
        asked = [p for p in PACKAGES if not options.packages or p.name in options.packages]
        read(asked, options.newest, again=options.again)
    releases = json.loads(RELEASES.read_text(encoding="utf-8"))["wheels"]
    for name, update in UPDATES.items():
        path = TABLES / f"{name}.json"
        before = path.read_text(encoding="utf-8")
        text, said = update(before, releases)
        path.write_text(text, encoding="utf-8")
        print(f"{path.name}: {'changed' if text != before else 'nothing changed'}", *said, sep="\n")
    return 0


if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
