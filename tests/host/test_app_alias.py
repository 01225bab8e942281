"""App Execution Aliases: what their reparse data says, whole, cut off and foreign."""

from __future__ import annotations

import struct

import pytest

from core.host.windows.app_alias import APPEXECLINK, target_in

TARGET = r"C:\Program Files\WindowsApps\PythonSoftwareFoundation.Python.3.11_3.11.2544.0_x64__qbz5n2kfra8p0\python.exe"


def data(*texts: str, tag: int = APPEXECLINK) -> bytes:
    body = struct.pack("<I", 3) + "".join(f"{text}\0" for text in texts).encode("utf-16-le")
    return struct.pack("<IHH", tag, len(body), 0) + body


WHOLE = data("PythonSoftwareFoundation.Python.3.11_qbz5n2kfra8p0", "Python.exe!App", TARGET, "0")


def test_the_program_is_its_third_text() -> None:
    assert target_in(WHOLE) == TARGET
    assert target_in(WHOLE + b"rest of the buffer") == TARGET


@pytest.mark.parametrize(
    "odd", [b"", WHOLE[:4], WHOLE[:11], WHOLE[:12], data("a"), data("a", "b", "c", tag=0xA000000C)]
)
def test_other_data_names_none(odd: bytes) -> None:
    assert target_in(odd) == ""


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_data_cut_off_anywhere_raises_nothing(length: int) -> None:
    assert target_in(WHOLE[:length]).rstrip("\ufffd") in TARGET
