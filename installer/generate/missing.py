"""Which texts and help pages a language lacks: a warning in every run of the checks, an end to a release build.

``python -m installer.generate.missing`` prints a count for each language; with ``--release`` one that is missing is status 1.
"""

from __future__ import annotations

import argparse
import sys

from core.common.catalogue import read_catalogue
from installer.generate.texts import ROOT, every_text

LOCALE = ROOT / "resources" / "locale"
HELP = ROOT / "resources" / "help"


def main(arguments: list[str]) -> int:
    """Print how many texts and help pages each language lacks."""
    parser = argparse.ArgumentParser(prog="python -m installer.generate.missing")
    parser.add_argument("--release", action="store_true", help="a text that is missing is exit status 1")
    release = parser.parse_args(arguments).release
    names = sorted(p.name for p in LOCALE.iterdir() if p.is_dir())
    missing = {name: (untranslated(name), without_page(name)) for name in names}
    for name, (texts, pages) in missing.items():
        if texts:
            count = f"{name}: {len(texts)} texts are shown in English until they are translated"
            print(f"warning: {count} (python3 dev.py language {name})", file=sys.stderr)
        if pages:
            print(f"warning: {name}: {len(pages)} help pages are shown in English: {', '.join(pages)}", file=sys.stderr)
    return 1 if release and any(any(lacks) for lacks in missing.values()) else 0


def without_page(name: str) -> list[str]:
    """Return the help pages that a language does not have; none for a language that has no pages at all."""
    if not (HELP / name).is_dir():
        return []
    return sorted(p.stem for p in (HELP / "en").glob("*.md") if not (HELP / name / p.name).exists())


def untranslated(name: str) -> list[str]:
    """Return the English form of each text that a language does not have."""
    written = (LOCALE / name / "LC_MESSAGES" / "convalesce.po").read_text(encoding="utf-8")
    there = {key.partition("\0")[0] for key in read_catalogue(written)}
    return [t.message for t in every_text() if (f"{t.context}\x04{t.message}" if t.context else t.message) not in there]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
