"""Languages, for core and gui alike: ``_`` translates what a person reads, ``N_`` marks a text that a table holds.

A catalogue is ``resources/locale/LANGUAGE/LC_MESSAGES/convalesce.mo``, in a checkout ``convalesce.po``; without one the texts
are English, and gettext is not even imported. Nothing in the program branches on a translated text, and nothing that a program reads is translated.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Protocol

from core.common.fact_text import MAX_FACT_CHARACTERS, MAX_FACT_DEPTH, fill_form, form_of

ENGLISH = "en"
LANGUAGE_VARIABLE = "CONVALESCE_LANGUAGE"
DOMAIN = "convalesce"
TIME_FORMATS = {"de": "%d.%m.%Y %H:%M"}
"""Language -> its format of date and time; the others use ISO 8601's, as Chinese does (GB/T 7408)."""
NUMBER_SIGNS = {"de": (",", ".")}
"""Language -> its decimal and thousands separators (CLDR); the others write 1,234.5."""

FACT = "fact"
"""The context of texts that probes write into the Snapshot."""
UNSPACED_LANGUAGES = ("zh_CN",)
"""Languages that put no space between sentences."""


class Catalogue(Protocol):
    """The methods of gettext's translations that this program uses."""

    def __hash__(self) -> int:
        """Distinguish catalogues."""

    def gettext(self, message: str) -> str:
        """Return a text's translation, or the text."""

    def pgettext(self, context: str, message: str) -> str:
        """Return the translation of a text in a context, or the text."""

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """Return the translated form for a number."""


# One language per process, as gettext.install() has it: a reader has one, and passing a catalogue to every function that
# may write a sentence would put it into nearly all signatures.
_translation: Catalogue | None = None
_language = ENGLISH


def use_language(language: str) -> None:
    """Translate into ``language`` from now on ("de", "zh_CN"); a language without a catalogue means English."""
    global _translation, _language  # noqa: PLW0603 - see there
    _language = nearest_language(language)
    _translation = None if _language == ENGLISH else _read(_language)


def _read(language: str) -> Catalogue:
    import gettext

    written = _folder() / language / "LC_MESSAGES" / f"{DOMAIN}.po"
    if written.exists():
        from core.common.catalogue import compile_catalogue

        return gettext.GNUTranslations(BytesIO(compile_catalogue(written.read_text(encoding="utf-8"))))
    return gettext.translation(DOMAIN, str(_folder()), languages=[language], fallback=True)


def _folder() -> Path:
    import resources

    return Path(resources.__path__[0], "locale")


def current_language() -> str:
    """Return the language in use: "en", or the name of a catalogue."""
    return _language


def available_languages() -> tuple[str, ...]:
    """Return English and all languages that have a catalogue."""
    found = _folder().glob(f"*/LC_MESSAGES/{DOMAIN}.[mp]o")
    return (ENGLISH, *sorted({file.parents[1].name for file in found}))


def nearest_language(wanted: str) -> str:
    """Return the best available language for a locale's name: "de_AT.UTF-8" -> "de", "zh-Hans-SG" -> "zh_CN", else "en"."""
    name = wanted.split(".", maxsplit=1)[0].split("@", maxsplit=1)[0].replace("-", "_").lower()
    main = name.split("_")[0]
    if main in ("", "c", "posix", ENGLISH):
        return ENGLISH
    here = available_languages()
    for candidate in here:
        if candidate.lower() == name:
            return candidate
    if main == "zh" and any(part in ("tw", "hk", "mo", "hant") for part in name.split("_")[1:]):
        return ENGLISH  # readers of traditional characters get English, which they are more likely to read
    return next((c for c in here if c.split("_")[0].lower() == main), ENGLISH)


def choose_language(environment: Mapping[str, str], chosen: str = "", system: str = "") -> str:
    """Return the language to use: CONVALESCE_LANGUAGE, ``chosen`` (the window's setting), the locale's variables, the system's own."""
    for name in (environment.get(LANGUAGE_VARIABLE, ""), chosen):
        if name:
            return nearest_language(name)
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(variable):
            return nearest_language(environment[variable])
    return nearest_language(system) if system else ENGLISH


def use_preferred_language(chosen: str = "", system: str = "") -> None:
    """Use the language that this person's environment, the window's setting or the system asks for."""
    use_language(choose_language(os.environ, chosen, system))


def _(message: str, /, **values: object) -> str:
    """Return ``message`` translated, with ``values`` filled in; a translation that does not accept them is ignored."""
    if not values:
        return message if _translation is None else _translation.gettext(message)
    values = {name: _in_line(value) for name, value in values.items()}
    if _translation is None:
        return message.format_map(values)
    return _fill(_translation.gettext(message), message, values)


def n_(singular: str, plural: str, number: int, /, **values: object) -> str:
    """Return the form for ``number`` in the language in use, with ``{n}`` and ``values`` filled in."""
    values = {"n": number, **{name: _in_line(value) for name, value in values.items()}}
    english = singular if number == 1 else plural
    if _translation is None:
        return english.format_map(values)
    return _fill(_translation.ngettext(singular, plural, number), english, values)


def _in_line(value: object) -> object:
    r"""Return a value without line feeds (as in a folder's name), which would break the sentence into lines."""
    return value.replace("\n", "\\n") if isinstance(value, str) and "\n" in value else value


def N_(message: str, /) -> str:  # noqa: N802 - gettext's name for it
    """Mark a text of a table for translation; whoever shows it calls ``_`` on it."""
    return message


def _fill(translated: str, english: str, values: Mapping[str, object]) -> str:
    try:
        return translated.format_map(values)
    except (LookupError, ValueError, AttributeError, TypeError):
        return english.format_map(values)


def format_number(value: float, digits: int | None = None) -> str:
    """Return a number as the language in use writes it, with ``digits`` decimals (None: as many as it has)."""
    text = f"{value:,}" if digits is None else f"{value:,.{digits}f}"
    if _language not in NUMBER_SIGNS:
        return text
    decimal, thousands = NUMBER_SIGNS[_language]
    return text.translate({ord(","): thousands, ord("."): decimal})


def format_plain_number(value: float, digits: int) -> str:
    """Return a number with ``digits`` decimals and no thousands separator."""
    text = f"{value:.{digits}f}"
    return text.replace(".", NUMBER_SIGNS[_language][0]) if _language in NUMBER_SIGNS else text


def format_significant(value: float) -> str:
    """Return a number with three significant digits: "1.47", "24"."""
    text = f"{value:.3g}"
    return text.replace(".", NUMBER_SIGNS[_language][0]) if _language in NUMBER_SIGNS else text


def format_moment(text: str, *, zone: bool = False) -> str:
    """Return an ISO 8601 time in the format of the language in use, to the minute, with its ``zone`` if it has one; other text unchanged."""
    from datetime import datetime

    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    said_zone = f" {when.tzname()}" if zone and when.tzinfo else ""
    return when.strftime(TIME_FORMATS.get(_language, "%Y-%m-%d %H:%M")) + said_zone


def join_sentences(*texts: str) -> str:
    """Return whole sentences one after the other, empty ones left out; Chinese puts no space between them."""
    return ("" if _language in UNSPACED_LANGUAGES else " ").join(text for text in texts if text)


def translate_fact(text: str, depth: int = MAX_FACT_DEPTH) -> str:
    """Return a text of the Snapshot in the current language: a sentence of ``fact_text``, or a known word; other text unchanged."""
    if _translation is None or not text:
        return text
    form = form_of(text)
    if form is None:
        return _of_fact(_translation, text) if len(text) < MAX_FACT_CHARACTERS else text
    message, values = form
    inner = {name: translate_fact(value, depth - 1) if depth else value for name, value in values.items()}
    return fill_form(_of_fact(_translation, message), inner)


def _of_fact(catalogue: Catalogue, message: str) -> str:
    translated = catalogue.pgettext(FACT, message)
    return catalogue.gettext(message) if translated == message else translated
