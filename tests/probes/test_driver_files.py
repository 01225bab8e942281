"""The kernel's side of the driver, its files and its cache, over made-up trees."""

from __future__ import annotations

import os
import pwd
import shutil
import struct
from pathlib import Path

import pytest

from core.host.interface import CompletedProcess
from core.model.facts import Machine
from core.probes.driver.compute_cache import compute_cache
from core.probes.driver.kernel import (
    cdi_specifications,
    device_nodes,
    expected_nodes,
    loaded_modules,
    module_version,
    secure_boot,
)
from core.probes.driver.kernel_log import KernelLog, format_record, kernel_log, resumed_at, sift_lines
from core.probes.driver.libraries import driver_libraries, search_folders
from core.probes.sysroot import Sysroot
from tests.probes.driver_standin import CUDA, built
from tests.probes.request import link, request, write

OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U16)\nGCC version:"
)
CLOSED = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\nGCC version: gcc 12\n"
)
EFI = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


@pytest.fixture
def where(tmp_path: Path) -> Sysroot:
    return Sysroot(system="linux", root=str(tmp_path))


# --- kernel modules --------------------------------------------------------------------------------------


def test_modules_that_matter_are_told(tmp_path: Path, where: Sysroot):
    write(
        tmp_path, "/proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 2 1 nvidia_uvm, Live 0x0\next4 3 2 - Live 0x0\n"
    )
    assert loaded_modules(where) == ("nvidia", "nvidia_uvm")


@pytest.mark.parametrize(
    ("files", "modules", "expected"),
    [
        ({"/sys/module/nvidia/version": "580.65.06\n"}, ("nvidia",), "580.65.06"),
        ({"/proc/driver/nvidia/version": OPEN}, ("nvidia",), "580.65.06"),
        ({"/proc/driver/nvidia/version": CLOSED}, None, "535.54.03"),
        ({"/proc/driver/nvidia/version": "NVRM version: something new"}, ("nvidia",), None),
        ({}, ("nouveau",), ""),
        ({}, (), ""),
        ({}, None, None),
        ({"/sys/module/nvidia/version": b"\xff\xfe"}, ("nvidia",), "\ufffd\ufffd"),
    ],
)
def test_module_version(tmp_path: Path, where: Sysroot, files, modules, expected):
    for path, content in files.items():
        write(tmp_path, path, content)
    assert module_version(modules, where) == expected


def test_no_list_of_modules_is_not_an_empty_one(where: Sysroot):
    assert loaded_modules(where) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({EFI: b"\x06\0\0\0\x01"}, True),
        ({EFI: b"\x06\0\0\0\x00"}, False),
        ({EFI: b"\x06\0"}, None),
        ({"/sys/firmware/efi/fw_platform_size": "64"}, None),
        ({"/sys/firmware/acpi/tables": ""}, False),
        ({}, None),
    ],
)
def test_secure_boot(tmp_path: Path, where: Sysroot, files, expected):
    for path, content in files.items():
        write(tmp_path, path, content)
    assert secure_boot(where) is expected


# --- device nodes ----------------------------------------------------------------------------------------


def test_nodes_are_opened_and_only_nvidias(tmp_path: Path, where: Sysroot):
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidiactl", "sda", "nvidia-uvm", "nvidiafoo"):
        (tmp_path / "dev" / name).symlink_to("/dev/null")
    found = device_nodes(where)
    assert found is not None
    assert [(n.path, n.opened, n.mode, n.problem) for n in found] == [
        ("/dev/nvidia-uvm", True, "0666", ""),
        ("/dev/nvidia0", True, "0666", ""),
        ("/dev/nvidiactl", True, "0666", ""),
    ]


DEVICES = "Character devices:\n  1 mem\n195 {main}\n195 nvidia-modeset\n195 nvidiactl\n508 nvidia-uvm\n237 nvidia-caps\n\nBlock devices:\n 8 sd\n"


@pytest.mark.parametrize("main", ["nvidia", "nvidia-frontend"])
def test_the_loaded_module_says_which_nodes_it_serves(tmp_path: Path, where: Sysroot, main: str):
    write(tmp_path, "/proc/devices", DEVICES.format(main=main))
    told = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 30\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n"
    write(tmp_path, "/proc/driver/nvidia/gpus/0000:00:06.0/information", told.format(minor=0))
    write(tmp_path, "/proc/driver/nvidia/gpus/0000:00:07.0/information", told.format(minor=3))
    assert [(n.path, n.major, n.minor, n.gpu) for n in expected_nodes(where) or ()] == [
        ("/dev/nvidiactl", 195, 255, ""),
        ("/dev/nvidia-uvm", 508, 0, ""),
        ("/dev/nvidia0", 195, 0, "0000:00:06.0"),
        ("/dev/nvidia3", 195, 3, "0000:00:07.0"),
    ]


def test_what_containers_are_given_is_read_from_their_specifications(tmp_path: Path, where: Sysroot):
    mount = "  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.575.57.08\n    containerPath: /usr/lib/libcuda.so.575.57.08\n"
    write(tmp_path, "/etc/cdi/nvidia.yaml", f"cdiVersion: 0.5.0\nmounts:\n{mount}")
    write(tmp_path, "/etc/cdi/nvidia.yaml.before", mount.replace("575", "570"))
    write(tmp_path, "/etc/cdi/other.yaml", "kind: vendor.com/device\n")
    write(tmp_path, "/var/run/cdi/management.json", '{"hostPath": "/usr/lib/libcuda.so.580.65"}')
    assert [(c.path, c.version) for c in cdi_specifications(where)] == [
        ("/etc/cdi/nvidia.yaml", "575.57.08"),
        ("/var/run/cdi/management.json", "580.65"),
    ]


def test_without_the_module_no_node_is_expected(tmp_path: Path, where: Sysroot):
    assert expected_nodes(where) is None
    write(tmp_path, "/proc/devices", "Character devices:\n  1 mem\n")
    assert expected_nodes(where) is None


def test_a_fifo_or_a_file_in_a_nodes_place_is_not_opened(tmp_path: Path, where: Sysroot):
    (tmp_path / "dev").mkdir()
    os.mkfifo(tmp_path / "dev/nvidia0")
    (tmp_path / "dev/nvidia1").write_text("x")
    (tmp_path / "dev/nvidia2").symlink_to("gone")
    found = device_nodes(where)
    assert found is not None
    assert [(n.opened, n.problem) for n in found] == [
        (None, "is not a device"),
        (None, "is not a device"),
        (False, "No such file or directory"),
    ]


def test_no_dev_is_not_an_empty_one(where: Sysroot):
    assert device_nodes(where) is None


# --- kernel log and sleep --------------------------------------------------------------------------------


def test_a_record_of_kmsg_is_written_as_dmesg_does():
    assert format_record("6,1234,5678901,-;NVRM: loading\n SUBSYSTEM=pci\n") == ["[    5.678901] NVRM: loading"]
    assert format_record("no record") == []
    assert format_record("6,1,x,-;y") == []


def test_lines_that_matter_and_the_last_resume():
    log = sift_lines(
        [
            "[    1.000000] Linux version 6.1",
            "[    5.000000] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
            "[   10.500000] PM: suspend exit",
            "[   99.250000] PM: suspend exit",
            "[  100.000000] Loading of module with unavailable key was rejected",
        ]
    )
    assert log.resumed == 99.25
    assert [line[15:19] for line in log.lines] == ["NVRM", "Load"]
    assert len(sift_lines(f"[{n}] nvidia {n}" for n in range(1000)).lines) == 200


def test_dmesg_is_asked_where_kmsg_is_not_there(tmp_path: Path, where: Sysroot):
    done = CompletedProcess(status=0, out="[    1.0] nouveau 0000:01:00.0: NVIDIA GA102\n[    2.0] usb\n")
    log = kernel_log(request(tmp_path, runs={("dmesg",): done}), where)
    assert log == KernelLog(lines=("[    1.0] nouveau 0000:01:00.0: NVIDIA GA102",))


def test_of_a_log_file_only_this_start_of_the_system_counts(tmp_path: Path, where: Sysroot):
    write(
        tmp_path,
        "/var/log/kern.log",
        b"a kernel: Linux version 6.1.0\na kernel: NVRM: old \xff\nb kernel: Linux version 6.1.1\nb kernel: NVRM: new\n",
    )
    assert kernel_log(request(tmp_path), where) == KernelLog(lines=("b kernel: NVRM: new",))


def test_a_log_that_cannot_be_read_is_none(tmp_path: Path, where: Sysroot):
    os.mkfifo(write(tmp_path, "/var/log/x").parent / "kern.log")
    assert kernel_log(request(tmp_path), where) is None


@pytest.mark.parametrize(
    ("log", "count", "asleep", "expected"),
    [
        (None, None, 0.0001, 0.0),
        (None, "0\n", None, 0.0),
        (None, None, None, None),
        (KernelLog(lines=(), resumed=500.0), "1\n", 3600.0, 1000.0 + 3600.0 + 500.0),
        (KernelLog(lines=()), None, 3600.0, 1000.0 + 3600.0),
        (None, "3\n", None, 1001.0),
    ],
)
def test_when_the_system_resumed(tmp_path: Path, where: Sysroot, log, count, asleep, expected):
    if count is not None:
        write(tmp_path, "/sys/power/suspend_stats/success", count)
    assert resumed_at(log, 1000.0, where, now=10_000.0, asleep=asleep) == expected


# --- files of the driver ---------------------------------------------------------------------------------


def test_drivers_are_found_where_they_lie_with_the_version_of_the_real_file(tmp_path: Path, where: Sysroot):
    real = tmp_path / "usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04"
    real.parent.mkdir(parents=True)
    shutil.copy(built(CUDA), real)
    os.truncate(real, 30 << 20)
    link(tmp_path, "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.580.159.04")
    link(tmp_path, "/usr/lib/x86_64-linux-gnu/libcuda.so", "libcuda.so.1")
    link(tmp_path, "/usr/lib/wsl/lib/libcuda.so.1", "gone")
    link(tmp_path, "/lib", "usr/lib")
    found = driver_libraries(search_folders({}, where), where)
    assert [(lib.path, lib.version, lib.stub, lib.size, lib.source) for lib in found] == [
        ("/lib/x86_64-linux-gnu/libcuda.so.1", "580.159.04", False, 30 << 20, "default folder"),
        ("/lib/x86_64-linux-gnu/libcuda.so", "580.159.04", False, 30 << 20, "default folder"),
        ("/usr/lib/wsl/lib/libcuda.so.1", None, None, None, "WSL"),
    ]
    assert found[0].real_path == "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04"
    assert "symbolic link" in found[2].problem


def test_the_folder_named_stubs_and_the_stubs_own_words(tmp_path: Path, where: Sysroot):
    stubs = tmp_path / "usr/local/cuda/lib64/stubs"
    stubs.mkdir(parents=True)
    shutil.copy(built(CUDA), stubs / "libcuda.so")
    link(tmp_path, "/opt/a/libcuda.so.1", "../../usr/local/cuda/lib64/stubs/libcuda.so")
    words = built('const char *m = "libnvidia-ml.so in GDK package is a stub library that is attached only for";')
    shutil.copy(words, tmp_path / "opt/a/libnvidia-ml.so.1")
    found = driver_libraries(search_folders({"LD_LIBRARY_PATH": "/opt/a::rel;/opt/a/"}, where), where)
    assert [(lib.path, lib.stub) for lib in found] == [
        ("/opt/a/libcuda.so.1", True),
        ("/opt/a/libnvidia-ml.so.1", True),
    ]


def test_the_loaders_cache_leads_to_drivers_elsewhere(tmp_path: Path, where: Sysroot):
    write(tmp_path, "/opt/driver/libcuda.so.1", "x")
    write(
        tmp_path, "/etc/ld.so.cache", cache({"libcuda.so.1": "/opt/driver/libcuda.so.1", "libm.so.6": "/m/libm.so.6"})
    )
    assert [(lib.path, lib.source) for lib in driver_libraries(search_folders({}, where), where)] == [
        ("/opt/driver/libcuda.so.1", "ld.so.cache")
    ]


def cache(entries: dict[str, str]) -> bytes:
    """A file in glibc's format, as core.loader.linux.cache describes it."""
    strings, rows = b"", b""
    start = 48 + 24 * len(entries)
    for name, path in entries.items():
        rows += struct.pack("<IIIIQ", 0x0303, start + len(strings), start + len(strings) + len(name) + 1, 0, 0)
        strings += name.encode() + b"\0" + path.encode() + b"\0"
    return b"glibc-ld.so.cache1.1" + struct.pack("<II", len(entries), len(strings)) + bytes(20) + rows + strings


# --- the compute cache -----------------------------------------------------------------------------------

MACHINE = Machine(system="linux", home="/home/ada")


def test_a_cache_that_is_used(tmp_path: Path, where: Sysroot):
    write(tmp_path, "/home/ada/.nv/ComputeCache/index", "data")
    seen = compute_cache({}, MACHINE, where)
    assert seen is not None
    assert (seen.path, seen.exists, seen.writable, seen.index_readable) == (
        "/home/ada/.nv/ComputeCache",
        True,
        True,
        True,
    )
    assert seen.owner == pwd.getpwuid(os.geteuid()).pw_name
    assert seen.source == "home folder"


@pytest.mark.parametrize(("index", "expected"), [("", False), (None, None)])
def test_an_empty_index_and_none(tmp_path: Path, where: Sysroot, index, expected):
    write(tmp_path, "/c/0/0/x")
    if index is not None:
        write(tmp_path, "/c/index", index)
    seen = compute_cache({"CUDA_CACHE_PATH": "/c"}, MACHINE, where)
    assert seen is not None
    assert (seen.index_readable, seen.source) == (expected, "CUDA_CACHE_PATH")


def test_an_index_that_is_a_fifo_is_not_waited_for(tmp_path: Path, where: Sysroot):
    os.mkfifo(write(tmp_path, "/c/x").parent / "index")
    seen = compute_cache({"CUDA_CACHE_PATH": "/c"}, MACHINE, where)
    assert seen is not None
    assert seen.index_readable is False


def test_a_cache_that_is_not_there_yet_or_never_can_be(tmp_path: Path, where: Sysroot):
    (tmp_path / "home/ada").mkdir(parents=True)
    seen = compute_cache({}, MACHINE, where)
    assert seen is not None
    assert (seen.exists, seen.writable, seen.problem) == (False, True, "")
    write(tmp_path, "/file")
    seen = compute_cache({"CUDA_CACHE_PATH": "/file"}, MACHINE, where)
    assert seen is not None
    assert (seen.exists, seen.writable, seen.problem) == (True, False, "is not a folder")


def test_no_home_no_cache(where: Sysroot):
    assert compute_cache({}, Machine(system="linux"), where) is None
