"""The text of start-up files on Windows, in the encodings in which people have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.probes.starting.windows.code_pages import windows_text

LINE = "set PATH=C:\\Müller\\bin;%PATH%\r\n"
JAPANESE = "set PATH=C:\\ソフト\\bin;%PATH%\r\n"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.bat", LINE.encode(), LINE),
        ("a.bat", LINE.encode("utf-8-sig"), LINE),
        ("a.bat", f"@chcp 850 >nul\r\n{LINE}".encode("cp850"), LINE),
        ("a.bat", f"chcp 437\r\n{LINE}".encode("cp437"), LINE),
        ("a.cmd", f"@ECHO off\r\n CHCP 1252\r\n{LINE}".encode("cp1252"), LINE),
        ("a.cmd", f"chcp 932\r\n{JAPANESE}".encode("cp932"), JAPANESE),
        ("a.bat", f"chcp 65001\r\n{LINE}".encode(), LINE),
        ("a.bat", f"chcp 99999\r\n{LINE}".encode(), LINE),
        ("profile.ps1", LINE.encode("utf-16"), LINE),
        ("profile.ps1", LINE.encode("utf-16-be").join((b"\xfe\xff", b"")), LINE),
    ],
)
def test_a_start_up_file_is_read_in_its_own_encoding(name: str, data: bytes, expected: str):
    assert windows_text(data, f"C:\\x\\{name}").endswith(expected)


def test_a_batch_file_that_names_no_code_page_is_of_the_systems():
    assert "\ufffd" not in windows_text(LINE.encode("cp850"), "C:\\x\\a.bat")
    assert "\ufffd" not in windows_text(LINE.encode("cp1252"), "C:\\x\\profile.ps1")


@given(st.binary(max_size=200), st.sampled_from(["a.bat", "a.ps1"]))
def test_no_bytes_raise(data: bytes, name: str):
    assert isinstance(windows_text(data, name), str)
