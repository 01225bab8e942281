"""Linux' facts from files under a root folder: true ones, absent ones, and ones that a broken machine has."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from core.host.linux import files as linux_files
from core.model.facts import PciDevice, Variable

POSIX_ONLY = pytest.mark.skipif(sys.platform == "win32", reason="FIFOs, devices and links are POSIX")


def put(root: Path, name: str, content: str | bytes) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize(
    ("name", "content", "release"),
    [
        ("etc/os-release", 'NAME="X"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n', "Debian GNU/Linux 12 (bookworm)"),
        ("usr/lib/os-release", "PRETTY_NAME='Fedora 43'\n", "Fedora 43"),
        ("etc/os-release", "NAME=Arch\n", "Arch"),
        ("etc/os-release", 'NAME="Void"\nVERSION_ID=7', "Void 7"),
        ("etc/os-release", "", "Linux"),
        ("etc/os-release", b'PRETTY_NAME="Caf\xe9 OS"', "Caf\\xe9 OS"),
        ("etc/other", "", ""),
    ],
)  # fmt: skip
def test_os_release(tmp_path: Path, name: str, content: str | bytes, release: str) -> None:
    put(tmp_path, name, content)
    assert linux_files.os_release(tmp_path) == release


@POSIX_ONLY
def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "device", "loop", "folder", "absent", "a\0b"):
        assert linux_files.read_small(tmp_path / name) is None


def test_a_huge_file_is_cut(tmp_path: Path) -> None:
    content = linux_files.read_small(put(tmp_path, "huge", b"x" * (3 << 20)))
    assert content is not None
    assert len(content) == 1 << 20


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("Linux version 5.15.167.4-microsoft-standard-WSL2", True),
        ("Linux version 4.4.0-19041-Microsoft", True),
        ("Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)", False),
        ("", False),
    ],
)
def test_wsl(tmp_path: Path, version: str, expected: bool) -> None:
    put(tmp_path, "proc/version", version)
    assert linux_files.is_wsl(tmp_path) is expected


@pytest.mark.parametrize(
    ("names", "environ", "kind"),
    [
        ({}, {}, None),
        ({".dockerenv": ""}, {}, "docker"),
        ({".dockerenv": ""}, {b"KUBERNETES_SERVICE_HOST": b"10.0.0.1"}, "kubernetes"),
        ({"run/.containerenv": ""}, {}, "podman"),
        ({}, {b"APPTAINER_CONTAINER": b"/x.sif"}, "apptainer"),
        ({}, {b"container": b"lxc"}, "lxc"),
        ({}, {b"container": b"oci"}, "container"),
        ({"run/systemd/container": "systemd-nspawn\n"}, {}, "systemd-nspawn"),
        ({"run/systemd/container": "wsl\n"}, {}, None),
        ({"proc/1/cgroup": "0::/kubepods/burstable/pod1\n"}, {}, "kubernetes"),
        ({"proc/1/cgroup": "12:cpu:/docker/0123\n"}, {}, "docker"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, {}, None),
    ],
)
def test_containers(tmp_path: Path, names: dict[str, str], environ: dict[bytes, bytes], kind: str | None) -> None:
    for name, content in names.items():
        put(tmp_path, name, content)
    assert linux_files.container_of(tmp_path, environ) == kind


def test_environment_files(tmp_path: Path) -> None:
    file = put(
        tmp_path, "environment", "PATH=\"/usr/bin:/bin\"\n# a note\nexport A=1\nB = 2\nCUDA_HOME='/opt/a b'\nC=\n=x\n"
    )
    found = linux_files.environment_file(file, "machine")
    assert found == [
        Variable(name="PATH", value="/usr/bin:/bin", scope="machine", source=str(file)),
        Variable(name="A", value="1", scope="machine", source=str(file)),
        Variable(name="CUDA_HOME", value="/opt/a b", scope="machine", source=str(file)),
        Variable(name="C", value="", scope="machine", source=str(file)),
    ]


def test_pam_environment_has_a_form_of_its_own(tmp_path: Path) -> None:
    file = put(tmp_path, ".pam_environment", 'A DEFAULT=1\nB DEFAULT="x y" OVERRIDE=${HOME}/z\nC=3\nD\n')
    assert {v.name: v.value for v in linux_files.environment_file(file, "user")} == {
        "A": "1",
        "B": "${HOME}/z",
        "C": "3",
    }


def device(root: Path, address: str, kind: str, driver: str | None = None, vendor: str = "0x10de") -> None:
    folder = root / "sys/bus/pci/devices" / address
    put(folder, "class", f"{kind}\n")
    put(folder, "vendor", f"{vendor}\n")
    put(folder, "device", "0x2684\n")
    if driver:
        (folder / "driver").symlink_to(f"../../../../bus/pci/drivers/{driver}")


@POSIX_ONLY
def test_pci_devices(tmp_path: Path) -> None:
    device(tmp_path, "0000:01:00.0", "0x030000", "nvidia")
    device(tmp_path, "0000:01:00.1", "0x040300", "snd_hda_intel")
    device(tmp_path, "0000:02:00.0", "0x030200", "vfio-pci")
    device(tmp_path, "0000:03:00.0", "0x038000", vendor="0x8086")
    assert linux_files.pci_devices(tmp_path) == tuple(
        PciDevice(
            address=address,
            vendor_id=vendor,
            device_id="2684",
            bound_driver=driver,
            source=str(tmp_path / "sys/bus/pci/devices" / address),
        )
        for address, vendor, driver in (
            ("0000:01:00.0", "10de", "nvidia"),
            ("0000:02:00.0", "10de", "vfio-pci"),
            ("0000:03:00.0", "8086", ""),
        )
    )


def test_no_sysfs_is_not_the_same_as_no_device(tmp_path: Path) -> None:
    assert linux_files.pci_devices(tmp_path) is None
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    assert linux_files.pci_devices(tmp_path) == ()


def test_a_device_whose_files_say_nothing(tmp_path: Path) -> None:
    put(tmp_path, "sys/bus/pci/devices/0000:01:00.0/class", "0x030000")
    (found,) = linux_files.pci_devices(tmp_path) or ()
    assert (found.vendor_id, found.device_id, found.bound_driver) == ("", "", "")


@pytest.mark.parametrize(
    ("environ", "frozen", "expected"),
    [
        ({b"LD_LIBRARY_PATH": b"/a"}, False, {b"LD_LIBRARY_PATH": b"/a"}),
        ({b"LD_LIBRARY_PATH": b"/app:/a", b"LD_LIBRARY_PATH_ORIG": b"/a"}, True, {b"LD_LIBRARY_PATH": b"/a"}),
        ({b"LD_LIBRARY_PATH": b"/app"}, True, {}),
        ({b"LD_LIBRARY_PATH": b"/app:", b"LD_LIBRARY_PATH_ORIG": b""}, True, {b"LD_LIBRARY_PATH": b""}),
        ({b"_PYI_ARCHIVE_FILE": b"x", b"_MEIPASS2": b"y", b"A": b"1"}, True, {b"A": b"1"}),
        ({b"LD_LIBRARY_PATH_ORIG": b"/mine"}, False, {b"LD_LIBRARY_PATH_ORIG": b"/mine"}),
    ],
)
def test_a_frozen_applications_changes_are_taken_back(
    environ: dict[bytes, bytes], frozen: bool, expected: dict[bytes, bytes]
) -> None:
    assert linux_files.without_bundle_variables(environ, frozen) == expected


@pytest.mark.parametrize(
    ("machine", "name"), [("AMD64", "x86_64"), ("arm64", "aarch64"), ("i686", "x86"), ("ppc64le", "ppc64le")]
)
def test_architectures(machine: str, name: str) -> None:
    assert linux_files.loader_architecture(machine) == name


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse4_1 sse4_2 avx f16c avx2 fma\nbugs\t\t:\n", ("sse4_1", "sse4_2", "avx", "avx2", "fma")),
        ("flags\t\t: fpu sse4_1\n", ("sse4_1",)),
        ("flags\t\t:\n", ()),
        ("processor\t: 0\nFeatures\t: fp asimd\n", None),
        ("flags\t\t: fpu avx", None),  # cut short: what follows is not known
        (None, None),
    ],
)  # fmt: skip
def test_instruction_sets(tmp_path: Path, content: str | None, found: tuple[str, ...] | None) -> None:
    if content is not None:
        put(tmp_path, "proc/cpuinfo", content)
    assert linux_files.processor_instructions(tmp_path) == found


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"etc/nv_tegra_release": "# R36 (release), REVISION: 4.0, GCID: 37537400, BOARD: generic, EABI: aarch64\n"},
            "L4T 36.4.0",
        ),
        ({"etc/nv_tegra_release": "# R32 (release), REVISION: 7.1, GCID: 29818004, BOARD: t210ref\n"}, "L4T 32.7.1"),
        (
            {
                "etc/nv_tegra_release": "something new\n",
                "proc/device-tree/compatible": "nvidia,p3737\0nvidia,tegra234\0",
            },
            "tegra234",
        ),
        ({"proc/device-tree/compatible": "nvidia,p3768-0000+p3767\0nvidia,tegra234\0"}, "tegra234"),
        ({"proc/device-tree/compatible": "raspberrypi,5-model-b\0brcm,bcm2712\0"}, ""),
        ({}, ""),
    ],
)
def test_a_jetson_is_told_by_its_release_or_by_its_chip(tmp_path: Path, files: dict[str, str], expected: str):
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert linux_files.tegra_of(tmp_path) == expected
