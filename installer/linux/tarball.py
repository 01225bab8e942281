"""The tarball: one folder that runs where it is unpacked, with a script that adds it to the desktop's menu."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from installer.generate import manual
from installer.linux import desktop
from installer.parts import Part

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LEVEL = os.environ.get("CONVALESCE_XZ", "6")
"""How hard xz tries; a build that is only tried takes 1."""


def build(frozen: Path, stage: Path, out: Path, version: str, libraries: tuple[Part, ...]) -> Path:
    """Pack the folder, with the copyright files of Debian's ``libraries`` in it; return the tarball's path."""
    name = f"convalesce-{version}-linux-x86_64"
    folder = stage / name
    shutil.copytree(frozen, folder, symlinks=True)
    desktop.build(folder / "share", "@PROGRAM@")
    manual.build(folder / "share")
    for file in (HERE / "desktop-entry.sh", HERE / "README", ROOT / "LICENSE"):
        shutil.copy2(file, folder / file.name)
    (folder / "THIRD-PARTY.txt").write_text(notices(), encoding="utf-8")
    (folder / "licences").mkdir()
    for part in libraries:
        shutil.copyfile(f"/usr/share/doc/{part.name}/copyright", folder / "licences" / part.name)
    return pack(folder, out / f"{name}.tar.xz")


def notices() -> str:
    """Return the notices and every licence text, one after the other."""
    folder = ROOT / "resources" / "notices"
    first = folder / "third-party.txt"
    ours = folder / "convalesce.txt"  # lies beside them as LICENSE
    texts = [first, *(f for f in sorted(folder.glob("*.txt")) if f not in (first, ours))]
    return "\n\n".join(f"----- {f.stem} -----\n\n{f.read_text(encoding='utf-8').strip()}" for f in texts) + "\n"


def pack(folder: Path, target: Path) -> Path:
    """Write a folder into a tarball: sorted, of one time and of no particular owner, so that its bytes are its content's."""

    def plain(item: tarfile.TarInfo) -> tarfile.TarInfo:
        item.uid = item.gid = 0
        item.uname = item.gname = "root"
        item.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
        item.mode = 0o755 if item.isdir() or item.mode & 0o100 else 0o644
        return item

    # a fixed number of threads: xz cuts the data into blocks for two of them, on any machine in the same places
    with (
        target.open("wb") as out,
        subprocess.Popen(["xz", f"-{LEVEL}", "--threads=2", "--stdout"], stdin=subprocess.PIPE, stdout=out) as packer,
    ):
        assert packer.stdin is not None
        with tarfile.open(fileobj=packer.stdin, mode="w|", format=tarfile.GNU_FORMAT) as archive:
            for file in sorted([folder, *folder.rglob("*")]):
                archive.add(file, file.relative_to(folder.parent), recursive=False, filter=plain)
        packer.stdin.close()
    if packer.returncode:
        raise SystemExit(f"xz ended with status {packer.returncode}")
    return target
