"""What installs, fetches and unpacks packages: whose program runs, and what a package or an index may reach."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.fixes.packages.fetch import Fetcher
from core.fixes.packages.installer import cached_wheels, choose_installer
from core.host import provenance
from core.host.this_host import this_host
from core.host.with_environment import HostWithEnvironment
from core.model.changes import ChangeError
from tests.malice.conftest import Box, give, needs_root

pytestmark = needs_root


def program(path: Path, mark: Path) -> Path:
    """Plant a program of Eve's that leaves a mark, and claims to be whatever it is asked for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n: > {mark}\necho 'pip 24.0 from /x (python 3.12)'\n")
    path.chmod(0o755)
    for place in (path, path.parent):
        give(place)
    return path


def host(**variables: str) -> HostWithEnvironment:
    return HostWithEnvironment(host=this_host(), env={"PATH": "/usr/bin:/bin", **variables})


def test_root_fetches_with_no_python_of_hers(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = box.root / "mark"
    hers = program(box.eve / "bin/python3", mark)
    monkeypatch.setattr(sys, "frozen", True, raising=False)  # so that the path is asked first
    with pytest.raises(ChangeError, match="no Python with pip"):
        Fetcher(host(PATH=f"{hers.parent}"), Progress())
    assert not mark.exists()


@pytest.mark.parametrize("way", ["PATH", "HOME"])
def test_root_installs_with_no_uv_of_hers(box: Box, way: str) -> None:
    mark = box.root / "mark"
    hers = program(box.eve / ".local/bin/uv", mark)
    variables = {"PATH": f"{hers.parent}:/usr/bin:/bin"} if way == "PATH" else {"HOME": str(box.eve)}
    chosen = chosen_in(box, "/usr/bin", host(**variables))
    assert str(hers) not in chosen
    assert not mark.exists()


def test_root_starts_no_interpreter_that_a_setting_names(box: Box) -> None:
    """pyvenv.cfg: home = a folder of Eve's."""
    mark = box.root / "mark"
    hers = program(box.eve / "bin/python3", mark)
    assert str(hers) not in chosen_in(box, str(hers.parent), host())
    assert not mark.exists()


def test_root_runs_no_python_of_an_environment_that_she_can_change(box: Box) -> None:
    mark = box.root / "mark"
    env = box.root / "opt/env"
    (env / "lib/python3.12/site-packages/pip").mkdir(parents=True)
    (env / "lib/python3.12/site-packages/pip/__main__.py").write_text("")
    (env / "bin").mkdir()
    (env / "bin/python").symlink_to(program(box.eve / "bin/python3", mark))
    assert str(env / "bin/python") not in chosen_in(box, "/nowhere", host(), root=env)
    assert not mark.exists()


def chosen_in(box: Box, home: str, where: HostWithEnvironment, root: Path | None = None) -> tuple[str, ...]:
    root = root or box.root / "opt/none"
    try:
        return choose_installer(root, home, where, Progress())._command
    except ChangeError:
        return ()


def wheel(path: Path, *more: str) -> Path:
    """Make what looks like a wheel, with further names in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch-9.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        for name in more:
            archive.writestr(name, "x")
    return path


@pytest.mark.parametrize("planted", ["the wheel", "the folder", "the cache"])
def test_a_wheel_in_a_cache_that_she_can_write_is_not_taken(box: Box, planted: str) -> None:
    cache = box.root / "opt/cache"
    body = wheel(cache / "http-v2/a/b.body")
    into = box.root / "opt/into"
    into.mkdir()
    assert cached_wheels(host(PIP_CACHE_DIR=str(cache)), into), "as long as it is root's alone"
    other = box.root / "opt/again"
    other.mkdir()
    give({"the wheel": body, "the folder": body.parent, "the cache": cache}[planted])
    assert cached_wheels(host(PIP_CACHE_DIR=str(cache)), other) is None


def test_a_search_path_of_ones_own_is_followed_as_ever(box: Box) -> None:
    folder = box.root / "opt/bin"
    folder.mkdir()
    (folder / "uv").write_text("#!/bin/sh\n")
    (folder / "uv").chmod(0o755)
    assert chosen_in(box, "/nowhere", host(PATH=f"{box.eve}:{folder}")) == (str(folder / "uv"), "pip")
    assert provenance.this_person().elevated
