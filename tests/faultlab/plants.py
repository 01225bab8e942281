"""Ways to break a machine, one thing at a time. Every file is given bytes of its own before it is altered."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.faultlab import standins, wheels
from tests.faultlab.setups import HOME, Lab, Site
from tests.faultlab.wheels import Wheel

Plant = Callable[[Lab, Site], None]
PAGE = 4096


def nothing(_lab: Lab, _site: Site) -> None:
    """Leave the machine healthy."""


def both(*plants: Plant) -> Plant:
    """Plant one after the other."""

    def plant(lab: Lab, site: Site) -> None:
        for one in plants:
            one(lab, site)

    return plant


def in_site(path: str, alter: Callable[[Path], None]) -> Plant:
    """Alter one file of the environment's packages."""
    return lambda _lab, site: alter(wheels.own(site.folder / path))


def _to(name: str, alter: Callable[[Path], None]) -> Plant:
    """Alter one library of the environment's cuDNN, or the one at an absolute path."""

    def plant(lab: Lab, site: Site) -> None:
        alter(wheels.own(lab.at(name) if name.startswith("/") else site.cudnn / name))

    return plant


def deleted(name: str) -> Plant:
    """Remove the file."""
    return _to(name, Path.unlink)


def cut(name: str, size: int) -> Plant:
    """Keep the first ``size`` bytes, as a download that stopped or a full disk leaves them."""
    return _to(name, lambda path: os.truncate(path, size))


def overwritten(name: str, offset: int, data: bytes) -> Plant:
    """Overwrite bytes at ``offset`` (negative: from the end)."""

    def alter(path: Path) -> None:
        with path.open("r+b") as stream:
            stream.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
            stream.write(data)

    return _to(name, alter)


def bit_flipped(name: str) -> Plant:
    """Flip one bit in the middle of the file, as bad memory or a bad disk does; size and headers stay."""

    def alter(path: Path) -> None:
        with path.open("r+b") as stream:
            stream.seek(path.stat().st_size // 2)
            byte = stream.read(1)[0]
            stream.seek(-1, os.SEEK_CUR)
            stream.write(bytes([byte ^ 0x10]))

    return _to(name, alter)


def pages_zeroed(name: str, pages: int) -> Plant:
    """Zero pages scattered over the file, as a crash before the disk's cache was written leaves them."""

    def alter(path: Path) -> None:
        choice = random.Random(7)
        last = path.stat().st_size // PAGE
        with path.open("r+b") as stream:
            for number in choice.sample(range(last // 4, last), pages):
                stream.seek(number * PAGE)
                stream.write(bytes(PAGE))

    return _to(name, alter)


def of_machine(name: str, machine: int) -> Plant:
    """Make the ELF header say another processor: 183 is aarch64."""
    return overwritten(name, 18, machine.to_bytes(2, "little"))


def of_32_bits(name: str) -> Plant:
    """Put a real 32-bit library in a file's place."""
    return _to(name, lambda path: standins.library(path, soname=name, flags=("-m32", "-nostdlib")))


def replaced(name: str, wheel: Wheel) -> Plant:
    """Put the same-named file of another release in its place."""

    def plant(_lab: Lab, site: Site) -> None:
        wheels.link(wheels.unpacked(wheel) / "nvidia" / "cudnn" / "lib" / name, site.cudnn / name)

    return plant


def closed(name: str) -> Plant:
    """Take every permission from a file of the environment's cuDNN, or from its folder (name: ".")."""

    def plant(_lab: Lab, site: Site) -> None:
        place = site.cudnn if name == "." else wheels.own(site.cudnn / name)
        place.chmod(0)

    return plant


def dangling(name: str, goal: str) -> Plant:
    """Replace a file by a link that leads nowhere."""

    def alter(path: Path) -> None:
        path.unlink()
        path.symlink_to(goal)

    return _to(name, alter)


def relinked(path: str, goal: str) -> Plant:
    """Point a link of the machine elsewhere."""

    def plant(lab: Lab, _site: Site) -> None:
        place = lab.at(path)
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(goal)

    return plant


def copied_folder(to: str, *picks: tuple[Wheel, str]) -> Plant:
    """Fill a folder with files (a pattern) of several cuDNN wheels."""

    def plant(lab: Lab, _site: Site) -> None:
        folder = lab.at(to)
        folder.mkdir(parents=True)
        for wheel, pattern in picks:
            for source in (wheels.unpacked(wheel) / "nvidia" / "cudnn" / "lib").glob(pattern):
                wheels.link(source, folder / source.name)

    return plant


def searched(folder: str) -> Plant:
    """Name a folder in /etc/ld.so.conf.d."""
    return lambda lab, _site: lab.search(folder, "lab-" + folder.strip("/").replace("/", "-"))


def vanished_after_ldconfig(*paths: str) -> Plant:
    """Remove files after ldconfig listed them."""
    return lambda lab, _site: lab.gone_after_cache.extend(paths)


def written(path: str, data: bytes = b"") -> Plant:
    """Write a file of the machine."""

    def plant(lab: Lab, _site: Site) -> None:
        place = lab.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    return plant


def stub_libcuda(folder: str) -> Plant:
    """Put the toolkit's stub where the driver's library is looked for, under the name that programs load."""
    return lambda lab, _site: standins.stub(lab.at(f"{folder}/libcuda.so.1"))


def removed(path: str) -> Plant:
    """Remove a file, a link or a folder of the machine."""

    def plant(lab: Lab, _site: Site) -> None:
        place = lab.at(path)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()

    return plant


def mode(path: str, bits: int) -> Plant:
    """Change a file's or folder's permissions (never one that is shared with the cache)."""
    return lambda lab, _site: lab.at(path).chmod(bits)


def package_removed(*patterns: str) -> Plant:
    """Remove what matches from the environment's packages, as ``pip uninstall`` does."""

    def plant(_lab: Lab, site: Site) -> None:
        for pattern in patterns:
            for place in site.folder.glob(pattern):
                shutil.rmtree(place)

    return plant


def packages(*which: Wheel) -> Plant:
    """Install further wheels into the environment."""

    def plant(_lab: Lab, site: Site) -> None:
        for wheel in which:
            wheels.link_tree(wheels.unpacked(wheel), site.folder)

    return plant


def from_environment(name: str, folder: str) -> Plant:
    """Let a variable name a folder inside the environment's packages."""
    return lambda lab, site: lab.environment.update({name: f"{site.shown}/{folder}"})


def compute_cache_closed(others: str = f"{HOME}/.nv") -> Plant:
    """Leave a cache of compiled kernels that belongs to somebody else (from ``others`` on), as a first start under sudo does."""

    def plant(lab: Lab, _site: Site) -> None:
        place = lab.at(f"{HOME}/.nv/ComputeCache")
        place.mkdir(parents=True)
        (place / "index").write_bytes(b"\x01" * 64)
        (place / "index").chmod(0)
        place.chmod(0o555)
        lab.others.append(others)

    return plant


def site_file_removed(path: str) -> Plant:
    """Remove one file of the environment's packages."""
    return lambda _lab, site: (site.folder / path).unlink()


def site_file_renamed(path: str, name: str) -> Plant:
    """Rename one file of the environment's packages, as a packager's tools do."""
    return lambda _lab, site: (site.folder / path).rename((site.folder / path).with_name(name))


def header(path: str, wheel: Wheel) -> Plant:
    """Put another release's cudnn_version.h in place."""

    def plant(lab: Lab, _site: Site) -> None:
        wheels.link(wheels.unpacked(wheel) / "nvidia" / "cudnn" / "include" / "cudnn_version.h", lab.at(path))

    return plant


def fifo(name: str) -> Plant:
    """Put a FIFO in a file's place: whoever opens it for reading waits for ever."""

    def alter(path: Path) -> None:
        path.unlink()
        os.mkfifo(path)

    return _to(name, alter)


def linked_to_itself(name: str) -> Plant:
    """Put a link to itself in a file's place."""
    return dangling(name, name)


def stand_in(path: str, real: str, soname: str) -> Plant:
    """Put a small library of the machine's under its full name ``real``, with a link by its SONAME."""

    def plant(lab: Lab, _site: Site) -> None:
        folder = lab.at(path)
        standins.library(folder / real, soname=soname)
        (folder / soname).symlink_to(real)

    return plant
