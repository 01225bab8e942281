"""A mounted disk that is hostile: ``--root`` reads inside it only, waits for nothing, and runs nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.malice.conftest import ROOT, needs_root

SECRET = "swordfish-7741"
FILES = (
    "etc/os-release",
    "usr/lib/os-release",
    "etc/environment",
    "etc/nv_tegra_release",
    "etc/ld.so.conf",
    "etc/profile",
    "etc/profile.d/x.sh",
    "etc/crontab",
    "etc/passwd",
    "home/ada/.bashrc",
    "home/ada/.profile",
    "home/ada/.config/environment.d/x.conf",
    "home/ada/env/pyvenv.cfg",
    "proc/version",
    "proc/cpuinfo",
    "proc/1/cgroup",
    "proc/driver/nvidia/version",
    "proc/modules",
    "proc/device-tree/compatible",
    "run/systemd/container",
    "sys/bus/pci/devices/0000:01:00.0/class",
    "sys/module/nvidia/version",
    "lib/x86_64-linux-gnu/libc.so.6",
    "lib64/libc.so.6",
    "usr/local/cuda/version.json",
    "usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "usr/lib/x86_64-linux-gnu/libcudnn.so.9",
    "home/ada/env/lib/python3.12/site-packages/torch/version.py",
    "home/ada/env/lib/python3.12/site-packages/torch-2.7.0.dist-info/METADATA",
    "bin/sh",
    "var/lib/dpkg/status",
    "var/log/kern.log",
)
"""What a scan of another system reads."""


def absolute(file: Path, outside: Path, _root: Path) -> None:
    file.symlink_to(outside)


def relative(file: Path, outside: Path, _root: Path) -> None:
    file.symlink_to("../" * 40 + str(outside).lstrip("/"))


def a_pipe(file: Path, _outside: Path, _root: Path) -> None:
    os.mkfifo(file)


def a_device(file: Path, _outside: Path, _root: Path) -> None:
    os.mknod(file, 0o020666, os.makedev(1, 5))  # /dev/zero


def a_loop(file: Path, _outside: Path, _root: Path) -> None:
    file.symlink_to(file.name)


def a_folder_of_it(file: Path, _outside: Path, _root: Path) -> None:
    file.mkdir()


KINDS: dict[str, Callable[[Path, Path, Path], None]] = {
    "absolute links out of it": absolute,
    "relative links out of it": relative,
    "pipes": a_pipe,
    "devices": a_device,
    "loops": a_loop,
    "folders": a_folder_of_it,
}


@needs_root
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["scan", "check"])
def test_nothing_of_it_leads_out_or_is_waited_for(kind: str, command: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text(
        f"PRETTY_NAME={SECRET}\nLD_LIBRARY_PATH=/{SECRET}\nexport CUDA_HOME=/{SECRET}\nflags : avx {SECRET}\n"
        f"Microsoft {SECRET} nvidia,tegra999 docker\nGNU C Library (x) stable release version 99.77\n"
    )
    root = tmp_path / "disk"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        KINDS[kind](root / name, outside, root)
    done = subprocess.run(
        [sys.executable, "-m", "core", command, "--root", root, *(["--json", "--full-names"] if command == "scan" else [])],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode in (0, 1, 5), done
    for sign in (SECRET, "99.77", "tegra999"):
        assert sign not in done.stdout + done.stderr


@needs_root
@pytest.mark.parametrize("way", ["absolute", "relative"])
def test_folders_that_lead_out_of_it_hold_what_is_inside(way: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    for name in ("os-release", "environment", "pyvenv.cfg", "class", "ld.so.conf"):
        outside.mkdir(exist_ok=True)
        (outside / name).write_text(f"PRETTY_NAME={SECRET}\nCUDA_HOME=/{SECRET}\n/{SECRET}\n0x030000\n")
    root = tmp_path / "disk"
    (root / "usr/lib").mkdir(parents=True)
    (root / "home").mkdir()
    target = str(outside) if way == "absolute" else "../" * 40 + str(outside).lstrip("/")
    for name in ("etc", "home/ada", "opt", "usr/local", "proc", "sys", "run", "var", "lib"):
        (root / name).symlink_to(target)
    done = subprocess.run(
        [sys.executable, "-m", "core", "scan", "--root", root, "--json", "--full-names"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert SECRET not in done.stdout + done.stderr
    assert done.returncode in (0, 1, 2, 5), done
