"""The kernel's log: NVIDIA's catalogue of Xid numbers, and the sentences of its module that name a cure."""

from __future__ import annotations

import pytest

from core.explain.dictionary import look_up
from core.explain.engine import explain
from core.knowledge.kernel_log import kernel_log_table, logged_xids

TABLE = kernel_log_table()


def test_every_number_has_an_action_of_the_table_and_a_meaning() -> None:
    assert len({x.code for x in TABLE.xids}) == len(TABLE.xids) > 100
    assert {x.action for x in TABLE.xids} <= set(TABLE.actions)
    assert [x.code for x in TABLE.xids if not x.meaning or x.meaning.endswith(".")] == []


def test_a_number_without_an_action_stays_unknown() -> None:
    assert {x.code for x in TABLE.xids if x.action == "unknown"} >= {162, 167, 169}
    assert look_up("Xid 9") == ()


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("[1.0] NVRM: Xid (PCI:0000:01:00): 79, pid=812, GPU has fallen off the bus.", (79,)),
        ("[ 1.0] NVRM: Xid (PCI:0000:65:00): 13, Graphics Exception\nNVRM: Xid (PCI:0000:65:00): 43, pid=1", (13, 43)),
        ("we see xid 31 after an hour", (31,)),
        ("Xid error: 48", (48,)),
        ("the xid changed", ()),
    ],
)
def test_numbers_are_read_from_a_log_and_from_a_sentence(line: str, numbers: tuple[int, ...]) -> None:
    assert logged_xids(line) == numbers


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("NVRM: Xid (PCI:0000:01:00): 79, pid=812, GPU has fallen off the bus.", "hardware_fault"),
        ("NVRM: Xid (PCI:0000:01:00): 74, pid=1, NVLink: fatal error detected on link 6", "hardware_fault"),
        ("NVRM: Xid (PCI:0000:01:00): 31, pid=812, name=python3, Ch 00000008, MMU Fault", "program_error"),
        ("NVRM: Xid (PCI:0000:01:00): 13, pid=2, Graphics Exception: ESR 0x505224=0x80000000", "program_error"),
        ("NVRM: GPU 0000:01:00.0: GPU does not have the necessary power cables connected.", "hardware_fault"),
        ("nvidia 0000:01:00.0: Direct firmware load for nvidia/595.71.05/gsp_ga10x.bin failed with error -2", "driver_component_missing"),
        ("NVRM: RmFetchGspRmImages: No firmware image found", "driver_component_missing"),
        ("nvidia: version magic '5.15.0-91-generic SMP' should be '5.15.0-94-generic SMP'", "driver_module_not_loaded"),
        ("Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7", "secure_boot_blocks_module"),
        ("NVRM: This is a 64-bit BAR mapped above 16 TB by the system BIOS or the Linux kernel.", "pci_memory_unassigned"),
        ("NVRM: installed in this system requires use of the NVIDIA open kernel modules.", "open_kernel_module_required"),
        (
            ("[    8.1] NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1b80)\n[    8.1] NVRM: installed in this system is not "
            "supported by open\n[    8.1] NVRM: nvidia.ko because it does not include the required GPU\n"
            "[    8.1] NVRM: System Processor (GSP).\n[    8.1] NVRM: Please see the 'Open Linux Kernel Modules' section."),
            "legacy_driver_required",
        ),
        (
            ("NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)\nNVRM: installed in this system requires use of\n"
            "NVRM: the NVIDIA open kernel modules.\nNVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)"),
            "open_kernel_module_required",
        ),
    ],
)  # fmt: skip
def test_a_line_of_the_kernel_log_names_its_cause(line: str, cause: str) -> None:
    told = explain(line)
    assert told.causes[0].cause == cause
    assert told.causes[0].because
    assert told.says.meaning


def test_a_number_is_explained_with_its_action() -> None:
    told = explain("NVRM: Xid (PCI:0000:01:00): 79, pid=812, GPU has fallen off the bus.")
    assert told.codes[0].term == "Xid 79"
    assert "fallen off the bus" in told.codes[0].meaning
    assert told.codes[0].usually
    assert look_up("Xid 48")[0].source == TABLE.source
