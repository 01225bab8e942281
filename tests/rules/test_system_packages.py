"""The system's packages: the command of this machine's package manager, and no other."""

from __future__ import annotations

import pytest

from core.model.facts import Machine, Snapshot
from core.rules.system_packages import library_commands, package_managers, program_commands, reinstall_command
from tests.machines import windows_machine


def on(release: str, *, root: bool = False) -> Snapshot:
    return Snapshot(machine=Machine(system="linux", release=release, elevated=root))


@pytest.mark.parametrize(
    ("release", "managers"),
    [
        ("Debian GNU/Linux 12 (bookworm)", ("apt-get",)),
        ("Ubuntu 24.04.1 LTS", ("apt-get",)),
        ("Linux Mint 22", ("apt-get",)),
        ("Fedora Linux 41 (Workstation Edition)", ("dnf",)),
        ("Red Hat Enterprise Linux 9.4 (Plow)", ("dnf",)),
        ("Rocky Linux 9.3 (Blue Onyx)", ("dnf",)),
        ("Amazon Linux 2023.6", ("dnf",)),
        ("openSUSE Leap 15.6", ("zypper",)),
        ("SUSE Linux Enterprise Server 15 SP6", ("zypper",)),
        ("Arch Linux", ("pacman",)),
        ("Alpine Linux v3.20", ("apk",)),
        ("", ("apt-get", "dnf")),
        ("Research OS 3", ("apt-get", "dnf")),
    ],
)
def test_the_name_of_the_system_tells_its_manager(release: str, managers: tuple[str, ...]) -> None:
    assert package_managers(on(release)) == managers


def test_windows_has_none_of_them() -> None:
    assert package_managers(windows_machine()) == ()
    assert program_commands(windows_machine(), "ffmpeg", shows="command -v ffmpeg") == []


def test_a_library_has_one_command_and_one_that_shows_it() -> None:
    debian, fedora = on("Debian GNU/Linux 12 (bookworm)"), on("Fedora Linux 41")
    shows = "ldconfig -p | grep -F libGL.so.1"
    assert library_commands(debian, "libGL.so.1") == ["sudo apt-get install libgl1", shows]
    assert library_commands(fedora, "libGL.so.1") == ['sudo dnf install "libGL.so.1()(64bit)"', shows]
    assert library_commands(debian, "libavutil.so.58")[0] == "sudo apt-get install ffmpeg"
    assert library_commands(debian, "libodd.so.3")[1] == "apt-file search libodd.so.3"


def test_who_is_root_needs_no_sudo_which_images_do_not_have() -> None:
    assert program_commands(on("Debian GNU/Linux 12 (bookworm)", root=True), "gcc") == ["apt-get install gcc"]
    assert program_commands(on("Fedora Linux 41"), "python3.12-dev", "python3-devel") == [
        "sudo dnf install python3-devel"
    ]


def test_a_package_is_put_back_by_the_manager_that_is_here() -> None:
    assert reinstall_command(on("Rocky Linux 9.3"), "libcudnn9") == "sudo dnf reinstall libcudnn9"
    assert reinstall_command(on(""), "libcudnn9").split("\n") == [
        "sudo apt-get install --reinstall libcudnn9",
        "sudo dnf reinstall libcudnn9",
    ]
