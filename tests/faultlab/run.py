"""Plant one fault, scan the machine with the command line that people use, and judge the answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tests
from tests.faultlab import machine
from tests.faultlab.faults import Fault
from tests.faultlab.setups import HOME, Lab
from tests.faultlab.wheels import cache

CHECKOUT = Path(tests.__file__).resolve().parent.parent
TIMEOUT = 120
"""Seconds after which a scan is given up. No measure of speed: a machine under load gets its time."""


class NoMachineError(Exception):
    """This system allows no private mount namespace."""


@dataclass(frozen=True)
class Outcome:
    """What the scan made of one fault."""

    name: str
    expected: str
    found: str
    right: bool
    seconds: float
    worst: str = ""
    """For a healthy machine: findings above a note."""
    offer: str = ""
    """What was offered for the primary cause: see Fault.offer."""
    detail: str = ""
    report: Mapping[str, Any] | None = None


def examine(fault: Fault, keep: Path | None = None) -> Outcome:
    """Build the fault's machine, scan it and judge; leave machine and report in ``keep`` where given."""
    with built(fault, keep) as lab:
        extra = ["--thorough"] if fault.thorough else []
        named = [part for prefix in lab.pythons for part in ("--python", prefix)]
        started = time.monotonic()
        done = on_machine(lab, [sys.executable, "-m", "core.cli.main", "scan", "--json", *named, *extra])
        seconds = time.monotonic() - started
        if keep:
            (keep / f"{fault.name}.json").write_bytes(done.stdout)
    return judge(fault, done.returncode, done.stdout, done.stderr, seconds)


def judge(fault: Fault, status: int, out: bytes, err: bytes, seconds: float) -> Outcome:
    """Compare a report with what the fault's row says."""
    expected = fault.cause or "(healthy)"
    try:
        report = json.loads(out)
    except ValueError:
        said = err.decode("utf-8", "replace").strip()[-400:]
        return Outcome(fault.name, expected, f"no report, status {status}", right=False, seconds=seconds, detail=said)
    findings = report["findings"]
    primary = next((f for f in findings if f["primary"]), None)
    loud = [f for f in findings if f["severity"] not in ("good", "note")]
    said = "; ".join(f"{f['severity']} {f['id']} {f['subject']}" for f in loud) or "nothing above a note"
    if errors := report["snapshot"].get("errors"):
        said += f"; PROBE ERRORS {errors}"
    noted = all(any(f["id"] == n for f in findings) for n in fault.notes)
    if fault.cause:
        found = primary["cause"] if primary else "none"
        right = found == fault.cause and status in (0, 1, 5)
    else:
        found = primary["cause"] if primary else "(healthy)" if not loud else "none, but " + loud[0]["id"]
        right = not loud and status == 0
    offer = offered(primary)
    if offer != fault.offered:
        said += f"; OFFERED {offer}, not {fault.offered}"
    right = right and noted and not errors and offer == fault.offered
    return Outcome(fault.name, expected, found, right, seconds, offer=offer, detail=said, report=report)


def offered(primary: Mapping[str, Any] | None) -> str:
    """Return what a report offers for its primary finding."""
    fix = (primary or {}).get("fix") or {}
    kinds = {change["change"] for change in fix.get("changes", ())}
    if kinds:
        return next((kind for kind in ("files", "packages", "system") if kind in kinds), "variable")
    return "advice" if fix.get("advice") else "nothing"


@contextmanager
def built(fault: Fault, keep: Path | None = None) -> Iterator[Lab]:
    """Build the machine of a fault in the cache's volume, where hard links reach; remove it in the end."""
    place = keep or cache() / "machines"
    place.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{fault.name}-", dir=place))
    folder.chmod(0o755)
    try:
        yield fault.build(folder / "tree")
    finally:
        if not keep:
            _remove(folder)


def _remove(folder: Path) -> None:
    for place, folders, _files in os.walk(folder):
        for name in folders:
            if not (inner := Path(place, name)).is_symlink():
                inner.chmod(0o755)  # what a row closed is opened before the walk comes to it
    shutil.rmtree(folder)


def on_machine(
    lab: Lab,
    command: list[str],
    cwd: Path = CHECKOUT,
    keep: Sequence[Path] = (),
    *,
    polkit: bool = False,
    timeout: float = TIMEOUT,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command on the built machine, as its user, with its variables; ``polkit``: he may use pkexec (root only).

    Raises:
        NoMachineError: this system allows no private mount namespace.
    """
    shown = {str(CHECKOUT), sys.prefix, sys.base_prefix, *map(str, keep)} - {"/usr", "/usr/local"}
    spec = {
        "tree": str(lab.tree),
        "keep": sorted(shown),
        "gone_after_cache": lab.gone_after_cache,
        "environment": {
            "PATH": "/usr/bin:/bin",
            "HOME": HOME,
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            **lab.environment,
        },
        "command": command,
        "cwd": str(cwd),
        "polkit": polkit,
    }
    paper = lab.tree.parent / "machine.json"
    paper.write_text(json.dumps(spec))
    return _start(str(paper), timeout=timeout)


def check() -> None:
    """Try whether this system allows a private machine.

    Raises:
        NoMachineError: it does not.
    """
    _start()


def _start(*paper: str, timeout: float = TIMEOUT) -> subprocess.CompletedProcess[bytes]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "CUDA", "PYTHON"))}
    start = [sys.executable, "-m", "tests.faultlab.machine", *paper]
    done = subprocess.run(start, check=False, cwd=CHECKOUT, env=clean, capture_output=True, timeout=timeout)
    if done.returncode == machine.NO_MACHINE:
        raise NoMachineError(done.stderr.decode("utf-8", "replace").strip())
    return done
