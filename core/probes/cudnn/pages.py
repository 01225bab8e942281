"""A cheap look for lost pages: code that holds nothing but zeros, as a failing disk or a broken copy leaves it.

No page of 4096 bytes in .text or .nv_fatbin is all zeros in any file of cuDNN 8.9.7, 9.1.0, 9.10.2, 9.20.0 (Linux),
9.21.1 (Linux), and 8.9.7 and 9.1.0 for Windows (.text, .nv_fatb): every page of those was read once to make sure.
In .rodata and .data such pages are normal. So one zeroed page of code proves damage; none found proves nothing:
one page in each stretch is looked at, and a flipped bit is seen only by its hash (--thorough).
"""

from __future__ import annotations

import time

from core.common.fact_text import fact_text
from core.loader.files import UnfitError, under
from core.loader.sections import layout

PAGE = 4096
STRETCH = {".text": 64 << 10, ".nv_fatbin": 512 << 10, ".nv_fatb": 512 << 10}
"""Section -> bytes of which one page is looked at. A run of zeroed pages as long as the stretch is always found."""

SAMPLES = 128
"""At least so many pages of a section are looked at, or all: zeroed pages scattered over a small file are found, too."""

ZEROS = bytes(PAGE)
START = bytes(32)


def zeroed(path: str, root: str = "/", *, until: float) -> str:
    """Return one sentence on the first lost page that is found, to follow the file's name; empty when none is.

    ``until`` (of time.monotonic) ends the look on a slow disk: what was not looked at counts as not found.
    """
    try:
        with layout(under(root, path)) as file:
            hop = file.source.hop
            for section in file.named(*STRETCH):
                first = -(-section.offset // PAGE) * PAGE
                step = max(PAGE, min(STRETCH[section.name], section.size // SAMPLES // PAGE * PAGE))
                for at in range(first, section.offset + section.size - PAGE + 1, step):
                    # its first bytes spare the rest of nearly every page
                    if hop(len(START), at) == START and file.source.read(at, PAGE) == ZEROS:
                        return fact_text(
                            "holds nothing but zeros at byte {at}, where its {name} should be",
                            at=at,
                            name=_kind(section.name),
                        )
                    if time.monotonic() > until:
                        return ""
    except UnfitError:
        return ""
    return ""


def _kind(section: str) -> str:
    return fact_text("machine code") if section == ".text" else "GPU code"
