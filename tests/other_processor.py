"""Wheels for another processor, read here: ``python -m tests.other_processor WHEEL...`` writes the table of docs/other-processors.md.

The wheels are unpacked into a made-up system below a temporary folder, which is scanned as ``scan --root`` does: nothing of it is
loaded or run. Each row has what the files themselves hold beside the row of the tables.
"""

from __future__ import annotations

import struct
import tempfile
import zipfile
from pathlib import Path

from core.common.progress import Progress
from core.doctor.other_root import OtherRootHost
from core.doctor.scan import take_snapshot
from core.knowledge.releases import compatibility_table
from core.loader import read_image
from core.loader.files import OtherRoot
from core.model.facts import CudnnCopy, LibraryFile, Snapshot
from core.model.scan_options import ScanOptions
from installer.by_hand import by_hand
from tests.loader import build

MACHINES = {"aarch64": 183}
SITE = "opt/ml/lib/python3.12/site-packages"


def unpacked(root: Path, wheels: list[Path], processor: str) -> None:
    """Make a system of a processor with one environment that holds these wheels."""
    for folder in ("etc", "usr/bin", "home/ada", SITE, "opt/ml/bin"):
        (root / folder).mkdir(parents=True)
    (root / "etc/os-release").write_text('PRETTY_NAME="made-up system"\n')
    shell = build.library(root / "bin/sh")
    data = bytearray(shell.read_bytes())
    data[18:20] = struct.pack("<H", MACHINES[processor])
    shell.write_bytes(data)
    (root / "usr/bin/python3.12").write_bytes(data)
    (root / "opt/ml/bin/python").symlink_to("/usr/bin/python3.12")
    (root / "opt/ml/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.3\n")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(root / SITE)


def look(root: Path) -> Snapshot:
    """Scan the system; nothing of it is loaded or run."""
    return take_snapshot(OtherRootHost(root), Progress(), ScanOptions(pythons=("/opt/ml",)))


def libraries(seen: Snapshot) -> list[LibraryFile]:
    """Return every library of CUDA and cuDNN that was found."""
    return [f for t in seen.toolkits or () for f in t.libraries] + [f for c in seen.cudnn or () for f in c.files]


def rows(seen: Snapshot, root: Path) -> list[str]:
    """Return the table's rows."""
    out = [
        "| library | processor | release by the file | machine code by the file | machine code by the tables |",
        "|" + "---|" * 5,
    ]
    for f in libraries(seen):
        image = read_image.read_image(f.path, root=OtherRoot(root.resolve()))
        copy = next((c for c in seen.cudnn or () if f in c.files), None)
        code = _code(copy) if copy and f is copy.files[0] else ""
        table = _table(copy, seen.machine.architecture) if copy and f is copy.files[0] else ""
        out.append(f"| {f.name} | {image.architecture} | {f.version or '-'} | {code} | {table} |")
    return out


def _code(copy: CudnnCopy) -> str:
    return ", ".join(map(str, copy.sass or ())) or "-"


def _table(copy: CudnnCopy, processor: str) -> str:
    for row in compatibility_table().cudnn:
        if (
            row.processor == processor
            and row.cuda_major == copy.cuda_major
            and copy.version
            and row.version.startswith(copy.version)
        ):
            return ", ".join(map(str, row.sass)) + ("" if row.verified else " (not verified)")
    return "no row"


def main(wheels: list[str]) -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="other-processor-") as folder:
        unpacked(Path(folder), [Path(w) for w in wheels], "aarch64")
        seen = look(Path(folder))
        print("\n".join(rows(seen, Path(folder))))
        print(f"\nmachine: {seen.machine.architecture}; run or loaded: {sum(bool(e.account) for e in seen.executions)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "WHEEL...")))
