"""The text of start-up files on Windows, which programs of every age have written.

A mark at the start tells UTF-16 and UTF-8; cmd.exe takes that of UTF-8 for letters of the first line, where it stays. cmd.exe reads a batch file in the console's code page: the one that the file itself
chooses by ``chcp``, else the system's OEM code page. Others without a mark are UTF-8 if they can be, else of the system's ANSI code page.
"""

from __future__ import annotations

import codecs

from core.common.late_pattern import late_pattern

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
BATCH = (".bat", ".cmd")
_CHOSEN = late_pattern(r"(?im)^[ \t@]{0,40}chcp(?:\.com)?[ \t]{1,40}([0-9]{3,5})\b")
UTF_8 = "65001"


def windows_text(data: bytes, path: str) -> str:
    """Return a file's text; no bytes raise."""
    mark = next((name for start, name in MARKS if data.startswith(start)), "")
    is_batch = path.lower().endswith(BATCH)
    if mark:
        return data.decode("utf-8" if is_batch and mark == "utf-8-sig" else mark, "replace")
    chosen = _CHOSEN.search(data.decode("latin-1")) if is_batch else None
    if chosen and chosen[1] != UTF_8 and (text := _in_code_page(data, f"cp{chosen[1]}")) is not None:
        return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if not chosen:
        # Python knows these two names on Windows alone; elsewhere, where a disk is looked at, Western Europe's stand for them
        for name in ("oem", "cp850") if is_batch else ("mbcs", "cp1252"):
            if (text := _in_code_page(data, name)) is not None:
                return text
    return data.decode("utf-8", "replace")


def _in_code_page(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name, "replace")
    except LookupError:
        return None


def misread_in_utf_8(data: bytes, text: str) -> bool:
    """Whether cmd.exe takes a batch file's letters of UTF-8 for others: it has no mark, and chooses no code page."""
    if text.isascii() or data.startswith(codecs.BOM_UTF8) or _CHOSEN.search(text):
        return False
    try:
        return data.decode("utf-8") == text != (_in_code_page(data, "oem") or _in_code_page(data, "cp850"))
    except UnicodeDecodeError:
        return False
