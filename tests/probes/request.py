"""A Request over a made-up machine, for the probes' tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.common.progress import Progress
from core.model.facts import Machine, PythonEnvironment, Snapshot, System, Variable
from core.probes.probe import ProbeRequest
from tests.host.fake import FakeHost


def request(
    root: Path,
    env: Mapping[str, str] | None = None,
    *,
    system: System = "linux",
    declared: tuple[Variable, ...] = (),
    named: Sequence[str] = (),
    pythons: tuple[PythonEnvironment, ...] | None = None,
    **host: Any,
) -> ProbeRequest:
    """Return what a probe is given on a machine whose files lie under ``root``."""
    machine = Machine(system=system, home="/home/ada" if system == "linux" else r"C:\Users\ada")
    made = FakeHost(root=root, facts=machine, environment=dict(env or {}), declared=declared, **host)
    seen = Snapshot(machine=machine, pythons=pythons)
    return ProbeRequest(host=made, seen=seen, env=made.fresh_environment(), watch=Progress(), pythons=tuple(named))


def write(root: Path, path: str, content: str | bytes = "") -> Path:
    """Write a file of the made-up machine, with its folders, and return where it lies."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def link(root: Path, path: str, target: str) -> Path:
    """Make a relative symbolic link of the made-up machine."""
    made = root / path.lstrip("/")
    made.parent.mkdir(parents=True, exist_ok=True)
    made.symlink_to(target)
    return made
