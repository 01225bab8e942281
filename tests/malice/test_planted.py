"""Environments that others can change, below every place that is searched: found, read, not run, and told so."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.malice.conftest import EVE, Box, grant, needs_root, shared_folder
from tests.malice.planted import VERA, Seen, library, owned, plant, scan

pytestmark = needs_root


class Street:
    """A box with a home of Vera's, and a folder in which anybody can leave a mark."""

    def __init__(self, box: Box) -> None:
        self.root = box.root
        self.marks = shared_folder(box.root / "marks")
        self.home = owned(self._made("home/vera"), VERA, 0o700)
        self.srv = self._made("srv")

    def _made(self, name: str) -> Path:
        (self.root / name).mkdir()
        (self.root / name).chmod(0o755)
        return self.root / name

    def plant(self, at: Path, uid: int = EVE, mode: int = 0o755, deed: str = "") -> Path:
        plant(at, library(str(self.marks), deed))
        return owned(at, uid, mode)

    def scan(self, uid: int, *arguments: str, cwd: str = "/", **variables: str) -> Seen:
        home = self.home if uid else self.root / "home/root"
        starts = f"{home}:{self.srv}"
        return scan(uid, self.marks, home, *arguments, starts=starts, cwd=cwd, **variables)


@pytest.fixture
def street(box: Box) -> Street:
    return Street(box)


def refused(seen: Seen, path: Path | str) -> None:
    """Hold that nothing ran, and that the report says what others can change, and that the files were found."""
    assert seen.marks == {}
    (finding,) = seen.findings("cudnn.not-trusted")
    assert finding["severity"] == "unknown"
    assert str(path) in finding["title"]
    assert "not tested" in finding["title"]
    (execution,) = [e for e in seen.executions if e["what"] == "roll call"]
    assert execution["account"] == ""
    assert execution["changeable"]["path"] == str(path)
    assert not seen.findings("cudnn.loads")


WHO = pytest.mark.parametrize("uid", [VERA, 0], ids=["vera", "root"])


@WHO
def test_a_project_below_a_shared_folder(street: Street, uid: int) -> None:
    its = street.plant(street.srv / "model/.venv")
    refused(street.scan(uid), its)


@WHO
def test_a_downloaded_repository_in_the_current_folder(street: Street, uid: int) -> None:
    its = street.plant(street.srv / "repo/.venv")
    refused(street.scan(uid, cwd=str(street.srv / "repo")), its)


@WHO
def test_one_file_that_everybody_may_write(street: Street, uid: int) -> None:
    its = street.plant(street.srv / "model/venv", 0)
    file = its / "lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9"
    file.chmod(0o666)
    refused(street.scan(uid), file)


@WHO
def test_a_folder_on_the_way_that_she_may_write_by_its_access_list(street: Street, uid: int) -> None:
    its = street.plant(street.srv / "model/venv", 0)
    grant(its / "lib")
    refused(street.scan(uid), its / "lib")


@WHO
def test_a_link_into_her_folder(street: Street, uid: int) -> None:
    hers = street.plant(street.root / "home/eve/env")
    (street.srv / "project").mkdir()
    place = street.srv / "project/venv"
    plant(place, b"")
    packages = place / "lib/python3.12/site-packages/nvidia/cudnn/lib"
    (packages / "libcudnn.so.9").unlink()
    packages.rmdir()
    packages.symlink_to(hers / "lib/python3.12/site-packages/nvidia/cudnn/lib")
    refused(street.scan(uid), street.root / "home/eve")


@WHO
def test_a_group_with_her_in_it(street: Street, uid: int) -> None:
    its = street.plant(street.srv / "model/venv", uid, 0o775)
    for path in (its, *its.rglob("*")):
        os.chown(path, uid, 27_000, follow_symlinks=False)
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o775)
    refused(street.scan(uid), its)


def test_named_it_is_tried_with_a_note(street: Street) -> None:
    its = street.plant(street.srv / "model/venv")
    seen = street.scan(VERA, "--python", str(its))
    assert seen.marks == {"ran": VERA}
    (note,) = seen.findings("cudnn.changeable")
    assert str(its) in note["title"]
    assert not seen.findings("cudnn.loads")


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "PATH"])
def test_active_or_on_path_it_is_tried_with_a_note(street: Street, variable: str) -> None:
    its = street.plant(street.srv / "colleague/venv")
    value = f"{its}/bin:/usr/bin:/bin" if variable == "PATH" else str(its)
    seen = street.scan(VERA, **{variable: value})
    assert seen.marks == {"ran": VERA}
    assert seen.findings("cudnn.changeable")


def test_named_by_root_it_runs_with_its_owners_rights(street: Street) -> None:
    its = street.plant(street.srv / "model/venv")
    seen = street.scan(0, "--python", str(its))
    assert seen.marks == {"ran": EVE}
    assert [e["account"] for e in seen.executions if e["what"] == "roll call"] == [str(EVE)]


def test_named_by_root_and_open_to_more_than_one_it_does_not_run(street: Street) -> None:
    its = street.plant(street.srv / "model/venv", mode=0o777)
    refused(street.scan(0, "--python", str(its)), its)


def test_behind_sudo_it_runs_with_the_persons_rights(street: Street) -> None:
    street.plant(street.srv / "model/venv", VERA)
    seen = street.scan(0, SUDO_UID=str(VERA))
    assert seen.marks == {"ran": VERA}


def test_roots_programs_do_not_follow_her_search_path(street: Street) -> None:
    folder = street.root / "home/eve/lib"
    folder.mkdir()
    (folder / "libcudnn.so.9").write_bytes(library(str(street.marks)))
    (folder / "libcuda.so.1").write_bytes(library(str(street.marks)))
    owned(folder, EVE)
    seen = street.scan(0, LD_LIBRARY_PATH=str(folder))
    assert set(seen.marks.values()) <= {EVE}
    (note,) = seen.findings("environment.not-trusted")
    assert str(folder) in note["title"]


@pytest.mark.parametrize(("uid", "mode"), [(VERA, 0o775), (VERA, 0o700), (0, 0o755)])
def test_what_is_ones_own_or_the_administrators_is_tried_without_a_word(street: Street, uid: int, mode: int) -> None:
    street.plant(street.home / "project/.venv", uid, mode)
    seen = street.scan(VERA)
    assert seen.marks == {"ran": VERA}
    assert not seen.findings("cudnn.not-trusted")
    assert not seen.findings("cudnn.changeable")


def test_nvcc_of_hers_on_roots_path_is_not_run(street: Street) -> None:
    toolkit = street.root / "home/eve/cuda"
    (toolkit / "bin").mkdir(parents=True)
    (toolkit / "bin/nvcc").write_text(f"#!/bin/sh\n: > {street.marks}/nvcc-$(id -u)\n")
    (toolkit / "bin/nvcc").chmod(0o755)
    owned(toolkit, EVE, 0o777)
    seen = street.scan(0, PATH=f"{toolkit}/bin:/usr/bin:/bin")
    assert seen.marks == {}
    (finding,) = seen.findings("toolkit.not-trusted")
    assert str(toolkit / "bin/nvcc") in finding["title"]


def framework(street: Street, mode: int) -> Path:
    """Plant a torch of Eve's that leaves a mark when it is imported."""
    its = street.plant(street.srv / "model/venv", mode=mode)
    site = its / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    info = site / "torch-2.4.1.dist-info"
    (site / "torch").mkdir(parents=True)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.4.1\n")
    (site / "torch/_C.so").write_bytes(b"")
    (site / "torch/__init__.py").write_text(f"open({str(street.marks / 'torch')!r}, 'w').close()\n")
    (its / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {sys.version_info[0]}.{sys.version_info[1]}.0\n")
    return owned(its, EVE, mode)


def test_a_framework_of_hers_is_imported_with_her_rights(street: Street) -> None:
    its = framework(street, 0o755)
    seen = street.scan(0, "--try", "--python", str(its))
    assert seen.marks["torch"] == EVE
    assert {e["account"] for e in seen.executions if e["what"] == "framework"} == {str(EVE)}


def test_a_framework_that_everybody_may_change_is_not_imported_by_root(street: Street) -> None:
    its = framework(street, 0o777)
    seen = street.scan(0, "--try", "--python", str(its))
    assert seen.marks == {}
    (finding,) = seen.findings("frameworks.not-trusted")
    assert str(its) in finding["title"]


def test_one_module_that_everybody_may_change_is_enough(street: Street) -> None:
    its = owned(framework(street, 0o755), 0)
    next(its.rglob("torch/__init__.py")).chmod(0o666)
    seen = street.scan(0, "--try", "--python", str(its))
    assert "torch" not in seen.marks
    assert seen.findings("frameworks.not-trusted")
