"""What the built files need of a system, read from their headers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection


def images(folder: Path) -> Iterator[Path]:
    """Yield every ELF file below a folder, links left out, in the order of their names."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as stream:
                if stream.read(4) == b"\x7fELF":
                    yield file


@cache
def needed(file: Path) -> set[str]:
    """Return the names of the libraries that a file needs (DT_NEEDED)."""
    with file.open("rb") as stream:
        sections = [s for s in ELFFile(stream).iter_sections() if isinstance(s, DynamicSection)]
        return {tag.needed for section in sections for tag in section.iter_tags("DT_NEEDED")}


@cache
def versions(file: Path, prefix: str) -> set[tuple[int, ...]]:
    """Return the symbol versions of a kind that a file needs: GLIBC_2.34 is (2, 34) for "GLIBC_"."""
    found = set()
    with file.open("rb") as stream:
        for section in ELFFile(stream).iter_sections():
            if isinstance(section, GNUVerNeedSection):
                for _, needs in section.iter_versions():
                    names = [need.name for need in needs if re.fullmatch(prefix + r"[\d.]+", need.name)]
                    found |= {tuple(map(int, name.removeprefix(prefix).split("."))) for name in names}
    return found


def outside(folder: Path) -> set[str]:
    """Return the names of the libraries that the files of a folder need and that are not among them."""
    inside = {file.name for file in folder.rglob("*.so*")}
    return {name for file in images(folder) for name in needed(file) if name not in inside}


def packages(libraries: set[str]) -> dict[str, str]:
    """Return for each library the Debian package that this machine has it from; those of none are left out."""
    found = {}
    for name in sorted(libraries):
        done = subprocess.run(["dpkg-query", "-S", f"*/{name}"], capture_output=True, text=True, check=False)
        owners = {line.split(":")[0] for line in done.stdout.splitlines() if f"/lib/x86_64-linux-gnu/{name}" in line}
        owners |= {line.split(":")[0] for line in done.stdout.splitlines() if f"/lib64/{name}" in line}
        if owners:
            found[name] = min(owners)
    return found
