"""Guides are data: each step has a check that is sound shell, and each system gets its own commands."""

from __future__ import annotations

import subprocess
import sys

import pytest

from core.knowledge.guides import GuideName, Guides, guide_steps
from core.knowledge.tables import read_table
from core.model.facts import Machine

STEPS = [(g.guide, g.systems[0], s) for g in read_table("guides", Guides).guides for s in g.steps]


@pytest.mark.skipif(sys.platform == "win32", reason="commands of Linux")
@pytest.mark.parametrize(("guide", "system", "step"), STEPS, ids=lambda v: str(getattr(v, "do", v))[:30])
def test_each_check_is_sound_shell_and_changes_nothing(guide: str, system: str, step):
    for text in (step.check.replace("{branch}", "580"), step.do.replace("{branch}", "580")):
        subprocess.run(["sh", "-n", "-c", text], check=True)
    assert "sudo" not in step.check
    assert step.check.split()[0] in ("test", "dpkg", "rpm", "pacman", "modinfo", "mokutil", "ldconfig", "reg")


@pytest.mark.parametrize(
    ("release", "wsl", "first"),
    [
        ("Ubuntu 24.04.3 LTS", False, "sudo ubuntu-drivers install"),
        ("Ubuntu 24.04.3 LTS", True, ""),  # the driver of WSL is Windows' own
        ("Debian GNU/Linux 12 (bookworm)", False, "sudo apt install linux-headers"),
        ("Fedora Linux 42 (Workstation Edition)", False, "sudo dnf install akmod-nvidia"),
        ("Rocky Linux 9.5 (Blue Onyx)", False, "sudo dnf module install"),
        ("Arch Linux", False, "sudo pacman -S"),
        ("openSUSE Tumbleweed", False, "sudo zypper install"),
        ("Gentoo Linux", False, ""),
    ],
)
def test_a_system_gets_its_own_commands(release: str, wsl: bool, first: str):
    steps = guide_steps("driver", Machine(system="linux", release=release, wsl=wsl))
    assert bool(steps) == bool(first)
    assert not steps or steps[0].do.startswith(first)


@pytest.mark.parametrize(
    ("guide", "release", "first"),
    [
        ("cpp-runtime", "Windows 11 Pro 23H2 (22631)", "winget install --exact --id Microsoft.VCRedist.2015+.x64"),
        ("cpp-runtime", "Ubuntu 24.04.3 LTS", ""),
        ("firmware", "Ubuntu 24.04.3 LTS", "systemctl reboot --firmware-setup"),
        ("firmware", "Windows 11 Pro 23H2 (22631)", ""),
    ],
)
def test_what_only_a_person_can_do_is_named_for_the_system(guide: GuideName, release: str, first: str):
    system = "windows" if "Windows" in release else "linux"
    steps = guide_steps(guide, Machine(system=system, release=release))
    assert bool(steps) == bool(first)
    assert not steps or steps[0].do.startswith(first)


def test_a_package_that_is_named_for_the_branch_needs_it():
    ubuntu = Machine(system="linux", release="Ubuntu 24.04.3 LTS")
    assert guide_steps("driver-libraries", ubuntu) == ()
    assert guide_steps("driver-libraries", ubuntu, branch="580")[0].do.endswith("libnvidia-compute-580")
