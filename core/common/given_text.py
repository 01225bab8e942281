"""Files that a person gives: how large a report may be, and their bytes as text."""

from __future__ import annotations

from core.common.late_pattern import late_pattern

MAX_REPORT_BYTES = 64 * 1024 * 1024
"""Most bytes of a file or a line that can be a report."""


PICTURE_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF")
_BINARY_STARTS = (b"\x7fELF", b"MZ\x90", b"PK\x03\x04", b"\x1f\x8b", b"\xfd7zXZ", b"BZh")
"""How programs, libraries and compressed files begin."""
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
"""How UTF-16 and UTF-8 begin where the writer marks them."""
_STRANGE = late_pattern("[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
"""What hardly occurs in a text. A log that a crash cut off holds NUL characters, coloured ones Escape."""


def is_binary(data: bytes) -> bool:
    """Whether a file holds no text: it begins as a program or an archive does, or a twentieth of it is control characters."""
    start = decode_text(data[:20_000])
    return data.startswith(_BINARY_STARTS) or len(_STRANGE.findall(start)) * 20 > len(start)


def unmarked(data: bytes) -> bytes:
    """Return a file's bytes in UTF-8 without a mark: ``>`` of Windows PowerShell writes UTF-16, and some editors mark UTF-8."""
    return decode_text(data).encode("utf-8", "replace") if data.startswith(_MARKS) else data


def decode_text(data: bytes) -> str:
    """Return the text of a file: UTF-8, UTF-16 as Windows shells write it, or the bytes as they are. Never raises."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if data[1:200:2].count(0) > 60 > data[:200:2].count(0):  # zeros alone are the hole that a crash leaves in a log
        return data.decode("utf-16-le", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
