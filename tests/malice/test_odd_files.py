"""What below a folder an administrator does not own alone: the child and this process find the same, and a child that fails hides nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from core.common.progress import Progress
from core.host.interface import CompletedProcess
from core.host.this_host import this_host
from core.model.facts import Machine, Snapshot
from core.probes import trust
from core.probes.probe import ProbeRequest
from tests.malice.conftest import Box, give, needs_root

pytestmark = needs_root


class RefusingHost:
    """A host that starts nothing."""

    def run(self, *_argv: object, **_how: object) -> CompletedProcess:
        return CompletedProcess(status=None, ended="was not started", started=False)


def request(host: Any) -> ProbeRequest:
    seen = Snapshot(machine=Machine(system="linux"))
    return ProbeRequest(host=host, seen=seen, env=dict(os.environ), watch=Progress())


@pytest.fixture
def odd(box: Box) -> tuple[str, set[str]]:
    """A folder of packages, and what is odd in it."""
    site = box.root / "opt/site"
    inner = site / "a/b/caf\udce9"  # a name that is not UTF-8
    inner.mkdir(parents=True)
    for name in ("hers", "open", "ours"):
        (inner / name).write_text("")
        (inner / name).chmod(0o644)
    give(inner / "hers")
    (inner / "open").chmod(0o666)
    (site / "link").symlink_to(box.eve)
    for folder in (site, *(f for f in site.rglob("*") if f.is_dir() and not f.is_symlink())):
        folder.chmod(0o755)
    return str(site), {str(p) for p in (inner / "hers", inner / "open", site / "link")}


def test_the_child_and_this_process_find_the_same(odd: tuple[str, set[str]]) -> None:
    folder, wanted = odd
    assert set(trust._odd((folder,), None)) == wanted
    assert set(trust._odd((folder,), request(this_host()))) == wanted


def test_it_is_the_child_that_looks(odd: tuple[str, set[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, wanted = odd
    monkeypatch.setattr(trust, "odd_files", lambda _folder: iter(()))
    assert set(trust._odd((folder,), request(this_host()))) == wanted


def test_where_the_child_cannot_tell_this_process_looks(odd: tuple[str, set[str]]) -> None:
    folder, wanted = odd
    assert set(trust._odd((folder,), request(RefusingHost()))) == wanted
    assert not set(trust._odd((str(Path(folder, "a/b/none")),), request(RefusingHost())))
