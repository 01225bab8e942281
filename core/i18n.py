"""gettext for core and gui alike: ``_`` marks and translates every text that a person reads."""

from __future__ import annotations

import gettext
from pathlib import Path

import resources

_translation: gettext.NullTranslations = gettext.NullTranslations()


def use_language(language: str) -> None:
    """Translate into ``language`` from now on ("de", "zh_CN"); a language without a catalogue means English."""
    global _translation  # noqa: PLW0603 - the one place that knows the language, as in gettext.install
    _translation = gettext.translation(
        "convalesce", str(Path(resources.__path__[0], "locale")), languages=[language], fallback=True
    )


def _(message: str) -> str:
    """Return ``message`` in the language in use."""
    return _translation.gettext(message)


def n_(singular: str, plural: str, number: int) -> str:
    """Return the form for ``number`` in the language in use, with ``{n}`` filled in."""
    return _translation.ngettext(singular, plural, number).format(n=number)
