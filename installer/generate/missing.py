"""Which texts a language's compiled catalogue lacks: a warning in every run of the checks, an end to a release build.

``python -m installer.generate.missing`` prints a count for each language; with ``--release`` a text that is missing is status 1.
"""

from __future__ import annotations

import gettext
import sys

from installer.generate.texts import ROOT, every_text

LOCALE = ROOT / "resources" / "locale"


def main(arguments: list[str]) -> int:
    """Print how many texts each language lacks."""
    missing = {name: untranslated(name) for name in sorted(p.name for p in LOCALE.iterdir() if p.is_dir())}
    for name, texts in missing.items():
        if texts:
            count = f"{name}: {len(texts)} texts are shown in English until they are translated"
            print(f"warning: {count} (python3 dev.py language {name})", file=sys.stderr)
    return 1 if "--release" in arguments and any(missing.values()) else 0


def untranslated(name: str) -> list[str]:
    """Return the English form of each text that a language does not have."""
    with (LOCALE / name / "LC_MESSAGES" / "convalesce.mo").open("rb") as file:
        spoken = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]  # it has no other way to list texts
    there = {key[0] if isinstance(key, tuple) else key for key in spoken}
    return [t.message for t in every_text() if (f"{t.context}\x04{t.message}" if t.context else t.message) not in there]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
