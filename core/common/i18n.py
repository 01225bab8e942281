"""Languages, for core and gui alike: ``_`` translates what a person reads, ``N_`` marks a text that a table holds.

A catalogue is ``resources/locale/LANGUAGE/LC_MESSAGES/convalesce.mo``; without one the texts are English, and gettext is not
even imported. Nothing in the program branches on a translated text, and nothing that a program reads is translated.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

ENGLISH = "en"
VARIABLE = "CONVALESCE_LANGUAGE"
DOMAIN = "convalesce"
TIMES = {"de": "%d.%m.%Y %H:%M"}
"""Language -> how it writes a moment; the others take ISO 8601's form, which Chinese shares (GB/T 7408)."""
SIGNS = {"de": (",", ".")}
"""Language -> its sign of decimals and of thousands (CLDR); the others write 1,234.5."""

LONGEST = 1000
"""Characters of a text of the Snapshot that is looked at for a form of ours."""
DEEPEST = 2
"""How deep a form may stand within a form."""
UNSPACED = ("zh_CN",)
"""Languages that put no space between sentences."""


class Catalogue(Protocol):
    """What gettext's translations offer."""

    def __hash__(self) -> int:
        """Tell catalogues apart."""

    def gettext(self, message: str) -> str:
        """Return a text's translation, or the text."""

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """Return the translated form for a number."""


_translation: Catalogue | None = None
_language = ENGLISH


def use_language(language: str) -> None:
    """Translate into ``language`` from now on ("de", "zh_CN"); a language without a catalogue means English."""
    global _translation, _language  # noqa: PLW0603 - the one place that knows the language, as in gettext.install
    _language = nearest(language)
    _translation = None if _language == ENGLISH else _read(_language)


def _read(language: str) -> Catalogue:
    import gettext

    return gettext.translation(DOMAIN, str(_folder()), languages=[language], fallback=True)


def _folder() -> Path:
    import resources

    return Path(resources.__path__[0], "locale")


def language() -> str:
    """Return the language in use: "en", or the name of a catalogue."""
    return _language


def languages() -> tuple[str, ...]:
    """Return English and all languages that have a catalogue."""
    found = _folder().glob(f"*/LC_MESSAGES/{DOMAIN}.mo")
    return (ENGLISH, *sorted(mo.parents[1].name for mo in found))


def nearest(wanted: str) -> str:
    """Return the language that serves a locale's name best: "de_AT.UTF-8" -> "de", "zh-Hans-SG" -> "zh_CN", else "en"."""
    name = wanted.split(".", maxsplit=1)[0].split("@", maxsplit=1)[0].replace("-", "_").lower()
    main = name.split("_")[0]
    if main in ("", "c", "posix", ENGLISH):
        return ENGLISH
    here = languages()
    for candidate in here:
        if candidate.lower() == name:
            return candidate
    if main == "zh" and any(part in ("tw", "hk", "mo", "hant") for part in name.split("_")[1:]):
        return ENGLISH  # readers of traditional characters get what they can be sure to read
    return next((c for c in here if c.split("_")[0].lower() == main), ENGLISH)


def choose_language(environment: Mapping[str, str], chosen: str = "", system: str = "") -> str:
    """Return the language to use: CONVALESCE_LANGUAGE, ``chosen`` (the window's setting), the locale's variables, the system's own."""
    for name in (environment.get(VARIABLE, ""), chosen):
        if name:
            return nearest(name)
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(variable):
            return nearest(environment[variable])
    return nearest(system) if system else ENGLISH


def use_preferred_language(chosen: str = "", system: str = "") -> None:
    """Use the language that this person's environment, the window's setting or the system asks for."""
    use_language(choose_language(os.environ, chosen, system))


def _(message: str, /, **values: object) -> str:
    """Return ``message`` in the language in use, with ``values`` filled in; a translation that cannot take them is passed over."""
    if not values:
        return message if _translation is None else _translation.gettext(message)
    values = {name: _in_line(value) for name, value in values.items()}
    if _translation is None:
        return message.format_map(values)
    return _filled(_translation.gettext(message), message, values)


def n_(singular: str, plural: str, number: int, /, **values: object) -> str:
    """Return the form for ``number`` in the language in use, with ``{n}`` and ``values`` filled in."""
    values = {"n": number, **{name: _in_line(value) for name, value in values.items()}}
    english = singular if number == 1 else plural
    if _translation is None:
        return english.format_map(values)
    return _filled(_translation.ngettext(singular, plural, number), english, values)


def _in_line(value: object) -> object:
    r"""Return a value for a sentence: a line feed, as in a folder's name, would begin a line of its own there."""
    return value.replace("\n", "\\n") if isinstance(value, str) and "\n" in value else value


def N_(message: str, /) -> str:  # noqa: N802 - gettext's name for it
    """Mark a text of a table for translation; whoever shows it calls ``_`` on it."""
    return message


def _filled(translated: str, english: str, values: Mapping[str, object]) -> str:
    try:
        return translated.format_map(values)
    except (LookupError, ValueError, AttributeError, TypeError):
        return english.format_map(values)


def number(value: float, digits: int | None = None) -> str:
    """Return a number as the language in use writes it, with ``digits`` decimals (None: as many as it has)."""
    text = f"{value:,}" if digits is None else f"{value:,.{digits}f}"
    if _language not in SIGNS:
        return text
    decimal, thousands = SIGNS[_language]
    return text.translate({ord(","): thousands, ord("."): decimal})


def plain_number(value: float, digits: int) -> str:
    """Return a number with ``digits`` decimals and no sign between thousands."""
    text = f"{value:.{digits}f}"
    return text.replace(".", SIGNS[_language][0]) if _language in SIGNS else text


def significant(value: float) -> str:
    """Return a number with three significant digits: "1.47", "24"."""
    text = f"{value:.3g}"
    return text.replace(".", SIGNS[_language][0]) if _language in SIGNS else text


def moment(text: str, *, zone: bool = False) -> str:
    """Return a moment that is written in ISO 8601 as the language in use writes it, to the minute, and with its ``zone`` if it
    has one; other text as it is.
    """
    from datetime import datetime

    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    said_zone = f" {when.tzname()}" if zone and when.tzinfo else ""
    return when.strftime(TIMES.get(_language, "%Y-%m-%d %H:%M")) + said_zone


def sentences(*texts: str) -> str:
    """Return whole sentences one after the other, empty ones left out; Chinese puts no space between them."""
    return ("" if _language in UNSPACED else " ").join(text for text in texts if text)


def fact_text(message: str, /, **values: object) -> str:
    """Return a text that a probe writes into the Snapshot: English for ever, as a replay elsewhere must find it.

    It is extracted all the same: ``translate_fact`` finds the form again, and shows it in the reader's language.
    """
    return message.format_map(values) if values else message


def translate_fact(text: str, depth: int = DEEPEST) -> str:
    """Return a text of the Snapshot in the language in use: a word of ours, or a form of ``fact_text`` with its values; else as it is.

    A Snapshot may be hostile: the time is linear in the text's length, and long texts stay as they are.
    """
    if _translation is None or not text or len(text) > LONGEST:
        return text
    translated = _translation.gettext(text)
    if translated != text:
        return translated
    for parts, form, turned in _forms(_translation):
        found = _values(parts, text)
        if found is not None:
            return _filled(
                turned, form, {n: translate_fact(value, depth - 1) if depth else value for n, value in found.items()}
            )
    return text


_FACT = "fact\x04"
"""How gettext writes the context of what was extracted from ``fact_text``."""


@functools.lru_cache(maxsize=4)
def _forms(catalogue: Catalogue) -> tuple[tuple[list[str], str, str], ...]:
    """Return every form of ``fact_text`` that the catalogue knows, the most particular first, with its translation."""
    entries: dict[object, str] = getattr(catalogue, "_catalog", {})
    forms = [
        (key.removeprefix(_FACT), text)
        for key, text in entries.items()
        if isinstance(key, str) and key.startswith(_FACT)
    ]
    forms.sort(key=lambda row: -len(re.sub(r"\{\w+\}", "", row[0])))
    return tuple((re.split(r"\{(\w+)\}", form), form, text) for form, text in forms)


SHAPES = (
    N_("firmware"),
    N_("kernel"),
    N_("loader"),
    N_("environment"),
    N_("file system"),
    fact_text("the Python environment {prefix} ({framework})"),
    fact_text("the Python environment {prefix}"),
    fact_text("the conda environment {prefix} ({framework})"),
    fact_text("the conda environment {prefix}"),
    fact_text("the Microsoft Store's Python {prefix} ({framework})"),
    fact_text("the Microsoft Store's Python {prefix}"),
    fact_text("any program ({framework})"),
    fact_text("roll call in a child process"),
)
"""Texts that the Snapshot holds and that are put together where no reader of texts finds them whole."""


def _values(parts: list[str], text: str) -> dict[str, str] | None:
    """Return what stands in the places of a form (its literals at even places, names between), None if the text has another form."""
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return {} if text == first else None
    end = len(text) - len(last)
    if end < len(first) or not text.startswith(first) or not text.endswith(last):
        return None
    found: dict[str, str] = {}
    at = len(first)
    for i in range(1, len(parts), 2):
        until = end if i == len(parts) - 2 else text.find(parts[i + 1], at, end) if parts[i + 1] else at
        if until < 0 or found.setdefault(parts[i], text[at:until]) != text[at:until]:
            return None
        at = until + len(parts[i + 1])
    return found
