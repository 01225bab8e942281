"""A language's catalogue as translators write it (.po), and the form that gettext reads (.mo). Standard library only.

A wheel has the second form, which is quicker to read; it is made while the wheel is built. A checkout has the first alone.
Both formats: GNU gettext, https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html and MO-Files.html.
"""

from __future__ import annotations

import re
import struct

_TEXT = re.compile(r'^(msgctxt|msgid|msgid_plural|msgstr)(?:\[\d+\])? "(.*)"$', re.MULTILINE)
_GUESS = re.compile(r"^#,.*\bfuzzy\b", re.MULTILINE)
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
_MAGIC = 0x950412DE
_HEAD_BYTES = 28


def read_catalogue(written: str) -> dict[str, str]:
    r"""Return English -> translation of each text that has one and is not marked as a guess ("fuzzy").

    As in the compiled form, a context stands before the text and "\x04"; the forms of a plural are joined by "\0".
    """
    found = {}
    joined = written.replace("\r\n", "\n").replace('"\n"', "")
    for entry in joined.split("\n\n"):
        texts: dict[str, list[str]] = {"msgctxt": [], "msgid": [], "msgid_plural": [], "msgstr": []}
        for kind, text in _TEXT.findall(entry):
            texts[kind].append(_plain(text))
        context, english, plural, forms = texts.values()
        if forms and all(forms) and not _GUESS.search(entry):
            found["\x04".join((*context, "\0".join(english + plural)))] = "\0".join(forms)
    return found


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda m: _LETTERS.get(m[1], m[1]), text) if "\\" in text else text


def compile_catalogue(written: str) -> bytes:
    """Return a catalogue in the form that gettext reads; the same texts give the same bytes."""
    pairs = sorted((key.encode(), text.encode()) for key, text in read_catalogue(written).items())
    texts = [key for key, _ in pairs] + [text for _, text in pairs]
    numbers = [_MAGIC, 0, len(pairs), _HEAD_BYTES, _HEAD_BYTES + 8 * len(pairs), 0, _HEAD_BYTES]
    place = _HEAD_BYTES + 8 * len(texts)
    for text in texts:
        numbers += (len(text), place)
        place += len(text) + 1
    return struct.pack(f"<{len(numbers)}I", *numbers) + b"".join(text + b"\0" for text in texts)
