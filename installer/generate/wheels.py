"""Take facts from real wheels: ``python -m installer.generate.wheels PACKAGE[==RELEASE]|FILE.whl|FOLDER ... [--newest N] [--code MB] [--out FILE]``.

Of a package, each of the newest N releases (or the one that is named) that pip's index has is read by range requests: for which
Pythons there are wheels, and of one wheel for Linux, one for Linux on ARM and one for Windows its METADATA (what it requires of
NVIDIA's packages), the list of its files (which of CUDA's and cuDNN's libraries it brings), the small texts that name a CUDA or a
compiler, and the GPU's machine code with its a and f suffixes. Code is packed: a library is unpacked for that, and those above MB
packed megabytes are left out and named.
A wheel that the table has by its hash, read as far, is not read again.
A file that "pip download" has fetched is read whole: also the processor that its libraries are for, and what they need of CUDA.
Of an environment (a folder) the GPU's machine code of every library of its packages is read, however large: by its headers alone.
Writes JSON, each row with the wheel's name and hash, and says what changed since; rows that were not read again
stay. Nothing is installed or run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from core.common.versions import version_tuple
from core.knowledge.library_names import parse_library_name
from core.loader.fatbin import machine_code
from core.loader.read_image import read_image
from installer.generate.index import Fetch, IndexFile, Ranged, opened, pip_index, releases

NEWEST = 6
"""Releases that are read unless more are asked for."""
CODE_MEGABYTES = 24
"""Packed megabytes of one library that are fetched for its machine code unless told."""
SYSTEMS = {
    "linux": re.compile(r"-(?:many)?linux.*_x86_64\.whl$"),
    "linux-aarch64": re.compile(r"-(?:many)?linux.*_aarch64\.whl$"),
    "windows": re.compile(r"-win_amd64\.whl$"),
    "any": re.compile(r"-none-any\.whl$"),
}
LIBRARY = re.compile(r"\.(?:so(?:\.\d+)*|dll|pyd)$", re.IGNORECASE)
WANTED = re.compile(r"nvidia[-_]|tensorrt|triton|^cuda[-_]|^(?:torch|numpy|jaxlib|jax-cuda)", re.IGNORECASE)
LEAST_CODE_BYTES = 1 << 16
"""Packed bytes below which no library has machine code."""
BUILT_FOR = re.compile(rb"(?:\b(?:sm|compute)_\d{2,3}[af]?\b[ \0]){2,30}")
"""The list that PyTorch answers for what it was built."""
OPENED = re.compile(rb"\b(?:lib(?:cublas|cudnn)\.so\.\d+|(?:cublas|cudnn)64_\d+\.dll)(?=\0)")
"""A library that is opened by a name in the program's own texts."""
SMALL = {
    "cuda": (re.compile(r"/build_and_package_info\.py$"), re.compile(r"^cuda_version = '(\d[\d.]*)'", re.MULTILINE)),
    "preloads": (re.compile(r"/_ld_preload\.py$"), re.compile(r"CDLL\(\"(lib[\w.]+)\"")),
    "gcc": (re.compile(r"/crt/host_config\.h$"), re.compile(r"unsupported GNU version! gcc versions later than (\d+)")),
    "clang": (
        re.compile(r"/crt/host_config\.h$"),
        re.compile(r"unsupported clang version! clang version must be less than (\d+)"),
    ),
}
"""What a small text of a wheel tells: which file, and the words around it."""
OTHERS = ("framework", "vcruntime", "zlibwapi")
"""Families of library names that are not CUDA's."""


def contents(fetch: Fetch, size: int) -> tuple[list[str], bytes]:
    """Return the names of a wheel's files and its METADATA."""
    with zipfile.ZipFile(Ranged(fetch, size)) as wheel:
        return wheel.namelist(), _metadata(wheel)


def _metadata(wheel: zipfile.ZipFile) -> bytes:
    return wheel.read(next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")))


def facts(names: Sequence[str], metadata: bytes) -> dict[str, Any]:
    """Return what a wheel requires of NVIDIA's packages, and which libraries of CUDA and cuDNN it brings."""
    told = BytesParser().parsebytes(metadata)
    requires = [r for r in told.get_all("Requires-Dist") or () if WANTED.search(r)]
    libraries = {n.rsplit("/", 1)[-1] for n in names if parse_library_name(n.rsplit("/", 1)[-1].lower())}
    return {"requires": sorted(requires), "libraries": sorted(libraries)}


def small_texts(wheel: zipfile.ZipFile) -> dict[str, list[str]]:
    """Return what the small texts of a wheel tell, by ``SMALL``; nothing where it has no such text."""
    found: dict[str, list[str]] = {}
    for key, (name, words) in SMALL.items():
        texts = [wheel.read(n).decode("utf-8", "replace") for n in wheel.namelist() if name.search(n)]
        if told := sorted({m for text in texts for m in words.findall(text)}):
            found[key] = told
    return found


def gpu_code(wheel: zipfile.ZipFile, most: int) -> dict[str, Any]:
    """Return the GPU's machine code in a wheel's libraries, and which were left out because they are packed in more than ``most`` bytes."""
    code: dict[str, Any] = {}
    built_for: dict[str, list[str]] = {}
    large: list[str] = []
    needs: set[str] = set()
    opens: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for member in wheel.infolist():
            if not LIBRARY.search(member.filename) or member.compress_size < LEAST_CODE_BYTES:
                continue
            if member.compress_size > most:
                large.append(member.filename)
                continue
            file = Path(wheel.extract(member, folder))
            found = machine_code(file, seconds=60)
            if found and any(found):
                code[member.filename] = {"sass": found.sass, "ptx": found.ptx, "bound": found.bound}
            needs |= {
                n
                for n in read_image(file).needed
                if (its := parse_library_name(n.lower())) and its.family not in OTHERS
            }
            content = file.read_bytes()
            if listed := BUILT_FOR.search(content):
                built_for[member.filename] = listed[0].decode().replace("\0", " ").split()
            opens |= {name.decode() for name in OPENED.findall(content)}
            file.unlink()
    its = {"code": code, "built_for": built_for, "needs": sorted(needs), "large": sorted(large)}
    return its | ({"opens": sorted(opens)} if opens else {})


def read_wheel(path: Path) -> dict[str, Any]:
    """Return what a wheel on disk holds: requirements, libraries, the processors that they are for, and what they need of CUDA."""
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        names = sorted(n for n in wheel.namelist() if LIBRARY.search(n))
        metadata = _metadata(wheel)
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


def read_environment(prefix: Path) -> Iterator[dict[str, Any]]:
    """Yield the packages of an environment whose libraries hold machine code for GPUs, each with that code."""
    for records in sorted(prefix.glob("lib/python3*/site-packages/*.dist-info/RECORD")):
        told = BytesParser().parsebytes((records.parent / "METADATA").read_bytes(), headersonly=True)
        wheel = BytesParser().parsebytes((records.parent / "WHEEL").read_bytes())
        site, code = records.parent.parent, {}
        for line in records.read_text(encoding="utf-8").splitlines():
            name = line.rsplit(",", 2)[0].strip('"')
            file = site / name
            if not LIBRARY.search(name) or file.is_symlink() or not file.is_file():
                continue
            found = machine_code(file, seconds=60) if file.stat().st_size >= LEAST_CODE_BYTES else None
            if found and any(found):
                code[name] = {"sass": found.sass, "ptx": found.ptx, "bound": found.bound}
        if code:
            tag = (wheel.get_all("Tag") or ["unknown"])[0]
            yield {
                "package": re.sub(r"[-_.]+", "-", told["Name"]).lower(),
                "version": told["Version"],
                "system": "linux-aarch64" if "aarch64" in tag else "linux",
                "code": code,
                "source": f"{records.parent.name.removesuffix('.dist-info')}, as installed from a wheel for {tag}",
            }


def one_each(files: Sequence[IndexFile]) -> Iterator[tuple[str, IndexFile, list[str]]]:
    """Yield for each system the wheel for the newest Python, and for which Pythons there are wheels."""
    for system, form in SYSTEMS.items():
        wheels = [f for f in files if form.search(f.name)]
        if wheels:
            pythons = sorted({f.python for f in wheels}, key=_python)
            yield system, max(wheels, key=lambda f: (_python(f.python), not f.free_threaded, f.name)), pythons


def _python(tag: str) -> int:
    found = re.fullmatch(r"cp3(\d+)", tag)
    return int(found[1]) if found else 0


@dataclass(frozen=True)
class Asked:
    """What is read of a package."""

    newest: int = NEWEST
    """Its newest releases."""
    most: int = 0
    """Packed bytes of a library that may be fetched for its machine code and for the names that it needs; 0: none."""
    last: bool = False
    """Only the last patch of each minor release."""
    systems: tuple[str, ...] = tuple(SYSTEMS)


def harvest(package: str, index: str, asked: Asked, known: Sequence[dict[str, Any]] = ()) -> Iterator[dict[str, Any]]:
    """Yield a row for each release and system. ``known``: rows that were read before; the same wheel is not read again.

    ``package``: "torch", or "torch==2.8.0".
    """
    by_hash = {row["sha256"]: row for row in known}
    for name, version, files in _asked_releases(package, index, asked):
        for system, file, pythons in one_each(files):
            before = by_hash.get(file.sha256)
            if system not in asked.systems:
                continue
            if before and (not asked.most or "code" in before):
                yield before | {"pythons": pythons}
                continue
            with zipfile.ZipFile(opened(file)) as wheel:
                row = {
                    "package": name,
                    "version": version,
                    "system": system,
                    "pythons": pythons,
                    **facts(wheel.namelist(), _metadata(wheel)),
                    **small_texts(wheel),
                    **(gpu_code(wheel, asked.most) if asked.most else {}),
                }
            if system == "any":  # one requirement, told again for each extra and system
                row["requires"] = sorted({r.partition(";")[0].strip() for r in row["requires"]})
            yield row | {"source": file.name, "sha256": file.sha256, "uploaded": file.uploaded}


def _asked_releases(package: str, index: str, asked: Asked) -> Iterator[tuple[str, str, list[IndexFile]]]:
    name, _equal, only = package.partition("==")
    minors: set[tuple[int, ...]] = set()
    for version, files in releases(name, sys.maxsize if only else asked.newest, index):
        its = version_tuple(version)[:2]
        if only in ("", version) and not (asked.last and its in minors):
            yield name, version, files
        minors.add(its)


def changes(before: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield what is new, gone or another since a table was written, a line each."""
    old, new = ({(r["package"], r["version"], r["system"]): r for r in rows} for rows in (before, now))
    for key in sorted({*old, *new}, key=lambda k: (k[0], version_tuple(k[1]), k[2])):
        name = " ".join(key)
        if key not in old or key not in new:
            yield f"{'+' if key in new else '-'} {name}"
            continue
        for field in sorted({*old[key], *new[key]}):
            one, other = (json.dumps(row[key].get(field)) for row in (old, new))
            if one != other:
                yield f"~ {name}: {field}: {one} -> {other}"


def table_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table as it is written: a row a line, and the day of reading; never where it was read."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return f'{{\n "known_until": "{datetime.now(UTC).date().isoformat()}",\n "wheels": [\n{lines}\n ]\n}}\n'


def main(arguments: Sequence[str]) -> int:
    """Print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m installer.generate.wheels", description=__doc__)
    parser.add_argument("packages", nargs="+", metavar="PACKAGE|FILE.whl|FOLDER")
    parser.add_argument("--newest", type=int, default=NEWEST, metavar="N")
    parser.add_argument("--code", type=int, default=CODE_MEGABYTES, metavar="MB", help="0: no machine code")
    parser.add_argument(
        "--index", default="", metavar="ADDRESS", help="of its simple pages; else the one that pip asks"
    )
    parser.add_argument("--again", action="store_true", help="read also the wheels that the table has")
    parser.add_argument("--system", action="append", choices=tuple(SYSTEMS), help="only these; else all")
    parser.add_argument("--last", action="store_true", help="only the last patch of each minor release")
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    files = [Path(p) for p in options.packages if p.endswith(".whl")]
    folders = [Path(p) for p in options.packages if "/" in p and Path(p).is_dir()]
    packages = [p for p in options.packages if not p.endswith(".whl") and Path(p) not in folders]
    index = (options.index or pip_index()) if packages else ""
    rows = [read_wheel(file) for file in files] + [row for folder in folders for row in read_environment(folder)]
    before: list[dict[str, Any]] = []
    if options.out and options.out.exists():
        before = json.loads(options.out.read_text(encoding="utf-8"))["wheels"]
    asked = Asked(options.newest, options.code << 20, options.last, tuple(options.system or SYSTEMS))
    for package in packages:
        for row in harvest(package, index, asked, () if options.again else before):
            print(row["source"], file=sys.stderr)
            rows.append(row)
    rows = list({(row["package"], row["version"], row["system"]): row for row in rows}.values())
    read = {(row["package"], row["version"], row["system"]) for row in rows}
    kept = [row for row in before if (row["package"], row["version"], row["system"]) not in read]
    text = table_text(sorted([*kept, *rows], key=lambda r: (r["package"], version_tuple(r["version"]), r["system"])))
    if options.out:
        print(*changes(before, json.loads(text)["wheels"]), sep="\n")
        options.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
