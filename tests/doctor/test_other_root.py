"""A Linux system below a folder: its links stay inside, nothing of it is run, and another processor's is read as well."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.doctor.examine import examine
from core.doctor.other_root import OtherRootHost
from core.host import process
from core.loader import read_image
from core.loader.files import OtherRoot
from core.probes.sysroot import Sysroot, sysroot_of
from tests.loader import build
from tests.probes.request import write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="roots of Linux, on Linux")
AARCH64 = 183
"""EM_AARCH64 (elf.h)."""


def link(root: Path, path: str, target: str) -> None:
    made = root / path.lstrip("/")
    made.parent.mkdir(parents=True, exist_ok=True)
    made.symlink_to(target)


def program(file: Path, machine: int = 62) -> None:
    """Build a library, give it a processor, and put it there."""
    build.library(file)
    data = bytearray(file.read_bytes())
    data[18:20] = struct.pack("<H", machine)
    file.write_bytes(data)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "host"
    write(folder, "/etc/os-release", 'PRETTY_NAME="Ubuntu 24.04 LTS"\n')
    (folder / "usr/lib").mkdir(parents=True)
    link(folder, "/lib", "usr/lib")
    return folder


# --- links -----------------------------------------------------------------------------------------------


def test_an_absolute_link_leads_to_a_place_inside(root: Path):
    write(root, "/usr/local/cuda-12.4/version.json", "{}")
    link(root, "/etc/alternatives/cuda", "/usr/local/cuda-12.4")
    link(root, "/usr/local/cuda", "/etc/alternatives/cuda")
    where = sysroot_of(OtherRootHost(root))
    assert where.real_path("/usr/local/cuda/version.json") == "/usr/local/cuda-12.4/version.json"
    assert where.text("/usr/local/cuda/version.json") == "{}"
    assert where.is_link("/usr/local/cuda")
    assert not where.is_link("/usr/local/cuda-12.4")
    assert not where.is_running_system


@pytest.mark.parametrize(
    ("links", "asked"),
    [
        ({"/opt/out": "/../../../../etc/passwd"}, "/opt/out"),
        ({"/opt/out": "../../../../../../../../../etc/passwd"}, "/opt/out"),
        ({"/opt/out": "/etc"}, "/opt/out/passwd"),
        ({"/opt/a": "/opt/b", "/opt/b": "/opt/a"}, "/opt/a"),
        ({}, "/../../../etc/passwd"),
        ({"/opt/deep": "x/../" * 60 + "/etc/passwd"}, "/opt/deep"),
    ],
)
def test_no_link_leads_out(root: Path, links: dict[str, str], asked: str):
    for path, target in links.items():
        link(root, path, target)
    where = sysroot_of(OtherRootHost(root))
    assert where.text(asked) is None
    assert where.local_path(asked).startswith(f"{root.resolve()}/")
    assert read_image.read_image(asked, root=where.root).state in ("missing", "dangling", "not a library", "unreadable")


def test_a_root_that_is_reached_by_a_link_is_its_own_place(root: Path, tmp_path: Path):
    (tmp_path / "by-link").symlink_to(root)
    assert sysroot_of(OtherRootHost(tmp_path / "by-link")).real_path("/etc") == "/etc"


def test_the_running_system_under_its_own_name_is_not_run_either():
    assert not Sysroot(system="linux", root=OtherRoot("/")).is_running_system
    assert Sysroot(system="linux", root="/").is_running_system


# --- the scan --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("machine", "name", "triplet"), [(62, "x86_64", "x86_64"), (AARCH64, "aarch64", "aarch64")])
def test_a_system_is_examined_and_nothing_of_it_is_run(root: Path, monkeypatch, machine: int, name: str, triplet: str):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was run")

    monkeypatch.setattr(process, "run_program", never)
    program(root / "bin/sh", machine)
    program(root / f"usr/lib/{triplet}-linux-gnu/libcudnn.so.9", machine)
    write(root, "/etc/environment", 'LD_LIBRARY_PATH="/opt/cuda/lib64"\n')
    report = examine(OtherRootHost(root), Progress())
    seen = report.snapshot
    assert (seen.machine.architecture, seen.machine.release) == (name, "Ubuntu 24.04 LTS")
    assert seen.machine.other_root == str(root.resolve())
    assert [c.folder for c in seen.cudnn or ()] == [f"/lib/{triplet}-linux-gnu"]
    assert [f.architecture for c in seen.cudnn or () for f in c.files] == [name]
    assert seen.driver is not None
    assert (seen.driver.cuda, seen.driver.nvml, seen.driver.nodes, seen.driver.kernel_log) == (None,) * 4
    assert not any(load.roll_call for load in seen.loads or ())
    assert not any(e.account for e in seen.executions)
    assert {
        v.value for v in (seen.environment.variables if seen.environment else ()) if v.name == "LD_LIBRARY_PATH"
    } == {"/opt/cuda/lib64"}
    assert [f.severity.word for f in report.findings if f.id == "environment.only-files"] == ["note"]
    assert not [f.id for f in report.findings if f.severity.word == "unknown"]


def test_nothing_is_decided_about_a_gpu_that_only_files_tell_of(root: Path):
    report = examine(OtherRootHost(root), Progress())
    assert [f for f in report.findings if f.id.startswith("driver.")] == []


# --- the command -----------------------------------------------------------------------------------------


def run(*words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CONVALESCE_LANGUAGE": "en"}
    return subprocess.run(
        [sys.executable, "-m", "core", "scan", *words], capture_output=True, text=True, check=False, env=env
    )


def test_the_command_names_the_folder_and_prints_its_report(root: Path):
    done = run("--root", str(root), "--json", "--full-names")
    assert done.returncode in (0, 1, 5), done.stderr
    assert json.loads(done.stdout)["snapshot"]["machine"]["other_root"] == str(root.resolve())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--root", "/proc/self/fd"), "is not the root of a Linux system"),
        (("--root", "/no/such"), "is not the root of a Linux system"),
        (("--root", "/", "--try"), "nothing of another system is run"),
    ],
)
def test_what_cannot_be_a_root_is_refused_in_a_sentence(words: tuple[str, ...], told: str):
    done = run(*words)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_the_persons_own_file_of_pam_sets_variables_there_too(root: Path) -> None:
    write(root, "/home/zoe/.pam_environment", "CUDA_HOME DEFAULT=/opt/cuda\n")
    found = [v for v in OtherRootHost(root).variables() if v.name == "CUDA_HOME"]
    assert [(v.value, v.scope) for v in found] == [("/opt/cuda", "user")]
