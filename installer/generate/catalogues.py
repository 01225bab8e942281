"""``python3 dev.py language de``: make or update the catalogue of a language.

Babel writes it as every editor of translations reads it (.po). ``installer/wheel.py`` compiles it for a wheel.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from babel.core import Locale, UnknownLocaleError
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from installer.by_hand import by_hand
from installer.generate.texts import ROOT, every_text

LOCALE = ROOT / "resources" / "locale"
DOMAIN = "convalesce"


def main(arguments: list[str]) -> int:
    """Update the languages that are named, or all that there are; return 0 when every text of them is translated."""
    names = arguments or sorted(p.name for p in LOCALE.iterdir() if p.is_dir())
    missing = 0
    for name in names:
        try:
            catalog = updated(name)
        except (UnknownLocaleError, ValueError) as e:
            print(f"{name} is no language that Babel knows: {e}", file=sys.stderr)
            return 2
        folder(name).mkdir(parents=True, exist_ok=True)
        (folder(name) / f"{DOMAIN}.po").write_bytes(as_po(catalog))
        open_ = [m for m in catalog if m.id and (not m.string or not all(texts(m.string)) or m.fuzzy)]
        missing += len(open_)
        print(f"{folder(name)}: {len(catalog)} texts, {len(open_)} not translated yet")
    return 1 if missing else 0


def folder(name: str) -> Path:
    """Return where a language's catalogue lies."""
    return LOCALE / name / "LC_MESSAGES"


def texts(string: object) -> tuple[str, ...]:
    """Return a translation's forms: one, or one for each plural."""
    return (string,) if isinstance(string, str) else tuple(string)  # type: ignore[arg-type]  # Babel types it as object


def template() -> Catalog:
    """Return a catalogue of all texts, none translated."""
    catalog = Catalog(project="Convalesce", charset="utf-8", fuzzy=False)
    for text in every_text():
        id_ = (text.message, text.plural) if text.plural else text.message
        catalog.add(id_, context=text.context or None)
    return catalog


def updated(name: str) -> Catalog:
    """Return a language's catalogue with today's texts; what was translated stays, what is gone is dropped."""
    locale = Locale.parse(name)
    path = folder(name) / f"{DOMAIN}.po"
    if path.exists():
        with path.open("rb") as file:
            old = read_po(file, locale=locale)
        old.update(template(), no_fuzzy_matching=True)
        old.obsolete.clear()
    else:
        old = template()
        old.locale = locale
    old.header_comment = (
        f"# {locale.english_name} texts of Convalesce; `python3 dev.py language {name}` keeps them in step."
    )
    return old


def as_po(catalog: Catalog) -> bytes:
    """Return a catalogue for editors: sorted, without dates and places, so that it changes only where a text does."""
    out = io.BytesIO()
    write_po(out, catalog, width=120, no_location=True, omit_header=False, sort_output=True, ignore_obsolete=True)
    dated = (
        b'"POT-Creation-Date',
        b'"PO-Revision-Date',
        b'"Generated-By',
        b'"Report-Msgid',
        b'"Last-Translator',
        b'"Language-Team',
    )
    return b"".join(line for line in out.getvalue().splitlines(keepends=True) if not line.startswith(dated))


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "[LANGUAGE...]")))
