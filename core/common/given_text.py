"""Files that a person gives: how large a report may be, and their bytes as text."""

from __future__ import annotations

MAX_REPORT_BYTES = 64 * 1024 * 1024
"""Most bytes of a file or a line that can be a report."""


def decode_text(data: bytes) -> str:
    """Return the text of a file: UTF-8, UTF-16 as Windows shells write it, or the bytes as they are. Never raises."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if data[1:200:2].count(0) > 60:
        return data.decode("utf-16-le", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
