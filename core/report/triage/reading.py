"""Reading reports one at a time: files of a folder, lines of a file, or a stream. Only the fields below are decoded."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from core.common.given_text import MAX_REPORT_BYTES, unmarked
from core.common.i18n import _
from core.model.facts import SCHEMA_VERSION, Frozen

LINES_ENDINGS = (".jsonl", ".ndjson")
"""Suffixes of files with one report per line."""
Severity = Literal["good", "note", "unknown", "warning", "error"]
SEVERITY_ORDER: tuple[Severity, ...] = ("error", "warning", "unknown", "note", "good")


class _Machine(Frozen, frozen=True, kw_only=True):
    system: str = ""
    release: str = ""
    architecture: str = ""
    kernel: str = ""
    libc: str = ""
    wsl: bool = False
    container: str | None = None


class _Nvml(Frozen, frozen=True, kw_only=True):
    driver_version: str | None = None


class _Gpu(Frozen, frozen=True, kw_only=True):
    name: str


class _Driver(Frozen, frozen=True, kw_only=True):
    nvml: _Nvml | None = None
    module_version: str | None = None
    gpus: tuple[_Gpu, ...] | None = None


class _Variable(Frozen, frozen=True, kw_only=True):
    name: str
    value: str
    scope: str = "process"


class _Environment(Frozen, frozen=True, kw_only=True):
    variables: tuple[_Variable, ...] = ()


class _Copy(Frozen, frozen=True, kw_only=True):
    version: str | None = None
    origin: str = ""
    missing: tuple[str, ...] = ()


class _Toolkit(Frozen, frozen=True, kw_only=True):
    version: str | None = None
    origin: str = ""
    nvcc_version: str | None = None


class _Distribution(Frozen, frozen=True, kw_only=True):
    name: str
    version: str


class _Python(Frozen, frozen=True, kw_only=True):
    version: str = ""
    distributions: tuple[_Distribution, ...] = ()


class _Snapshot(Frozen, frozen=True, kw_only=True):
    machine: _Machine
    driver: _Driver | None = None
    environment: _Environment | None = None
    toolkits: tuple[_Toolkit, ...] | None = None
    cudnn: tuple[_Copy, ...] | None = None
    pythons: tuple[_Python, ...] | None = None


class ReadFinding(Frozen, frozen=True, kw_only=True):
    """The fields that are read of a finding."""

    id: str = ""
    cause: str
    severity: Severity
    title: str = ""
    subject: str = ""
    primary: bool = False
    headline: bool = False


class ReadReport(Frozen, frozen=True, kw_only=True):
    """The fields that are read of a report."""

    schema: int
    snapshot: _Snapshot
    findings: tuple[ReadFinding, ...] = ()

    @property
    def worst(self) -> Severity:
        """The worst severity of its findings."""
        return min((f.severity for f in self.findings), key=SEVERITY_ORDER.index, default="good")

    @property
    def leading(self) -> ReadFinding | None:
        """Its main finding: the primary or the headline, else the first of its faults."""
        first = next((f for f in self.findings if f.primary or f.headline), None)
        if first is None and self.worst in ("error", "warning"):
            first = next(f for f in self.findings if f.severity == self.worst)
        return first

    @property
    def driver_version(self) -> str:
        """The driver's version; empty for none."""
        driver = self.snapshot.driver
        return ((driver.nvml.driver_version if driver.nvml else None) or driver.module_version or "") if driver else ""

    @property
    def gpu_names(self) -> str:
        """The names of its GPUs, joined."""
        driver = self.snapshot.driver
        return ", ".join(sorted({g.name for g in (driver.gpus or ())})) if driver else ""


class BadFile(Frozen, frozen=True, kw_only=True):
    """A file or a line that is no report, and why."""

    file: str
    problem: str


Item = tuple[str, ReadReport | BadFile]
"""A report's name, and its content."""


def read_all(place: Path) -> Iterator[Item]:
    """Yield every report of a folder (``*.json``, and the lines of ``*.jsonl``), in the order of their names, or of one file.

    Links to folders are not followed, and nothing but a regular file is opened.
    """
    if not place.is_dir():
        yield from _read_file(place, place.name)
        return
    for name in sorted(_files(place)):
        yield from _read_file(place / name, name)


def read_stream(stream: BinaryIO, name: str = "-") -> Iterator[Item]:
    """Yield the report of each line."""
    for number, line in enumerate(_lines(stream), 1):
        if line.strip():
            yield f"{name}:{number}", decode_report(line, name)


def _files(folder: Path) -> Iterable[str]:
    endings = (".json", *LINES_ENDINGS)
    for at, _folders, names in os.walk(folder):
        below = os.path.relpath(at, folder)
        start = "" if below == os.curdir else below + os.sep  # strings: a hundred thousand paths take seconds to make
        yield from (start + name for name in names if name.lower().endswith(endings))


def _read_file(path: Path, name: str) -> Iterator[Item]:
    try:
        seen = path.stat()
        if not stat.S_ISREG(seen.st_mode):
            yield name, BadFile(file=name, problem=_("is not a regular file"))
        elif name.lower().endswith(LINES_ENDINGS):
            with path.open("rb") as stream:
                yield from read_stream(stream, name)
        elif seen.st_size > MAX_REPORT_BYTES:
            yield name, BadFile(file=name, problem=_("is too large for a report (more than 64 MiB)"))
        else:
            yield name, decode_report(path.read_bytes(), name)
    except OSError as e:
        yield name, BadFile(file=name, problem=_("cannot be read: {strerror}", strerror=e.strerror))


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines; one longer than any report comes in pieces, none of which is a valid report."""
    while line := stream.readline(MAX_REPORT_BYTES):
        yield line


def decode_report(data: bytes, name: str) -> ReadReport | BadFile:
    """Return what is read of a report's JSON, or why it is none."""
    try:
        report = msgspec.json.decode(unmarked(data), type=ReadReport)
    except RecursionError:
        return BadFile(file=name, problem=_("is nested too deeply for a report"))
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        return BadFile(file=name, problem=_("is not a report: {e}", e=e))
    if report.schema != SCHEMA_VERSION:
        return BadFile(
            file=name,
            problem=_(
                "has schema {theirs}; this version of Convalesce reads schema {ours}",
                theirs=report.schema,
                ours=SCHEMA_VERSION,
            ),
        )
    return report


def settings_of(report: ReadReport) -> dict[str, str]:
    """Return the settings that can differ between machines: a name and a value each. An unset one has no row."""
    seen, machine = report.snapshot, report.snapshot.machine
    rows = {
        "system": machine.release,
        "architecture": machine.architecture,
        "kernel": machine.kernel,
        "libc": machine.libc,
        "WSL": "yes" if machine.wsl else "",
        "container": machine.container or "",
        "driver": report.driver_version,
        "GPUs": report.gpu_names,
    }
    for variable in seen.environment.variables if seen.environment else ():
        if variable.scope == "process":
            rows[f"variable {variable.name}"] = variable.value or "''"
    copies, toolkits, pythons = seen.cudnn or (), seen.toolkits or (), seen.pythons or ()
    rows["cuDNN"] = _row(f"{c.version or '?'} ({c.origin})" for c in copies)
    rows["cuDNN's missing parts"] = _row(name for c in copies for name in c.missing)
    rows["CUDA toolkits"] = _row(f"{t.version or '?'} ({t.origin})" for t in toolkits if t.origin != "wheel")
    rows["nvcc"] = _row(t.nvcc_version for t in toolkits if t.nvcc_version)
    rows["Python"] = _row(p.version for p in pythons)
    packages: dict[str, set[str]] = {}
    for python in pythons:
        for package in python.distributions:
            packages.setdefault(package.name, set()).add(package.version)
    rows |= {f"package {name}": _row(versions) for name, versions in packages.items()}
    return {sys.intern(name): value for name, value in rows.items() if value}


def _row(values: Iterable[str]) -> str:
    found = {*values}
    return found.pop() if len(found) == 1 else ", ".join(sorted(found))
