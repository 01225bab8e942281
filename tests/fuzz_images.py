"""A long run of hostile files through the loader room: python -m tests.fuzz_images [COUNT] [SEED].

Real headers (this machine's libraries, DLLs written by hand, a fat binary, a cache) are mutated and fed to every
reader; noise, too. Each input must give facts within a second and never an exception. Prints what it found.
"""

from __future__ import annotations

import random
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from core.loader import read_image
from core.loader.contents import library_names
from core.loader.cudnn_version import cudnn_version
from core.loader.fatbin import machine_code
from core.loader.linux.cache import parse_cache
from installer.by_hand import by_hand
from tests.loader.build import pe

LIMIT = 1.0
"""Seconds that one input may take."""

EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1, (1 << 64) - 8)


def seeds() -> list[bytes]:
    """Return files worth mutating: small, so that mutations hit headers."""
    fat = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 104) + struct.pack("<HHIQ12xI32x", 2, 0x101, 64, 40, 90) + bytes(40)
    rows = [
        pe(("kernel32.dll", "cudart64_12.dll"), ("nvcuda.dll",), data=b"\0cudnn_ops64_9.dll\0"),
        pe(("a.dll",), ("b.dll",), machine=0x14C),
        pe(extra=((b".nv_fatb", fat), (b".text", bytes(64)))),
    ]
    for folder in (Path("/lib/x86_64-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib")):
        small = sorted(folder.glob("*.so*"), key=lambda p: p.stat().st_size if p.is_file() else 1 << 40)[:6]
        rows += [path.read_bytes() for path in small if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    return rows


def header_places(data: bytes) -> range:
    """Return where most mutations go: the headers, which lie at the start (and, for ELF sections, at the end)."""
    return range(min(len(data), 1024))


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return a damaged copy."""
    copy = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        if not copy:
            break
        place = chance.choice(header_places(copy)) if chance.random() < 0.8 else chance.randrange(len(copy))
        match chance.randrange(6):
            case 0:
                copy[place] ^= 1 << chance.randrange(8)
            case 1:
                size = chance.choice((1, 2, 4, 8))
                copy[place : place + size] = (chance.choice(EDGES) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            case 2:
                copy[place : place + 8] = chance.randbytes(8)
            case 3:
                del copy[chance.randrange(len(copy)) :]
            case 4:
                other = chance.randrange(len(copy))
                copy[place : place + 16] = copy[other : other + 16]
            case _:
                copy[place : place + 4] = struct.pack("<I", chance.randrange(len(copy) * 2))
    return bytes(copy)


def readers(path: Path) -> tuple[Callable[[], object], ...]:
    """Return everything that reads a foreign file."""
    return (
        lambda: read_image.read_image(path),
        lambda: library_names(path),
        lambda: machine_code(path),
        lambda: cudnn_version(path),
    )


def run(count: int, seed: int) -> Counter[str]:
    """Feed ``count`` inputs to every reader; return how often each state came, and what failed."""
    chance = random.Random(seed)
    stock = seeds()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder, "libcudnn.so.9")
        for number in range(count):
            noise = chance.choice((b"", b"\x7fELF\x02\x01\x01", b"MZ")) + chance.randbytes(chance.randrange(300))
            data = noise if number % 10 == 0 else mutated(chance.choice(stock), chance)
            path.write_bytes(data)
            start = time.monotonic()
            try:
                image = read_image.read_image(path)
                seen[f"{image.format or 'other'}: {image.state}"] += 1
                for read in readers(path)[1:]:
                    read()
                parse_cache(b"glibc-ld.so.cache1.1" + data[:200])
            except Exception:  # noqa: BLE001 - finding these is what this program is for
                seen["FAILED"] += 1
                if seen["FAILED"] <= 20:
                    kept = Path(tempfile.gettempdir(), f"fuzz-{seed}-{number}.bin")
                    kept.write_bytes(data)
                    sys.stdout.write(f"{kept}\n{traceback.format_exc()}\n")
            if time.monotonic() - start > LIMIT:
                seen["SLOW"] += 1
    return seen


def main() -> int:
    """Run from the command line; status 1 when anything failed or was slow."""
    given = [*map(int, by_hand(__doc__, "[COUNT]", "[SEED]"))]
    count, seed = given + [100_000, 20_261_121][len(given) :]
    start = time.monotonic()
    seen = run(count, seed)
    sys.stdout.write(f"{count} inputs in {time.monotonic() - start:.0f} s, seed {seed}\n")
    sys.stdout.writelines(f"{number:8} {what}\n" for what, number in sorted(seen.items()))
    return 1 if seen["FAILED"] or seen["SLOW"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
