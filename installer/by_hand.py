"""The arguments of a tool that people run by hand: ``--help`` prints its own words, and a wrong argument a sentence."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

NUMBERS = {"COUNT", "SEED", "MAJOR"}
"""Words that stand for a whole number."""
FILES = {"ARTEFACT", "DRAFT", "ICON", "WHEEL"}
"""Words that stand for a file that must be there."""


def by_hand(doc: str | None, *words: str, given: Sequence[str] | None = None) -> list[str]:
    """Return the arguments that a tool was given, once they have the form of ``words``.

    A word is ``FOLDER``; ``FOLDER/`` is one that must be there. ``[NAME]`` may be left out, ``NAME...`` be repeated.
    Where the form is another, the program ends with status 2.
    """
    parser = argparse.ArgumentParser(
        prog=_name(), description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    for word in words:
        name = re.sub(r"[^A-Z]", "", word)
        count = {(0, 0): None, (1, 0): "?", (0, 1): "+", (1, 1): "*"}[word[0] == "[", "..." in word]
        kind = _number if name in NUMBERS else _folder if "/" in word else _file if name in FILES else str
        parser.add_argument(name.lower(), metavar=name, nargs=count, type=kind)
    found = vars(parser.parse_args(given))
    values = [v if isinstance(v, list) else [v] for v in found.values() if v is not None]
    return [value for several in values for value in several]


def _name() -> str:
    """How this program was called."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return f"python -m {spec.name.removesuffix('.__main__')}" if spec else Path(sys.argv[0]).name


def _number(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return text


def _file(text: str) -> str:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is not a file")
    return text


def _folder(text: str) -> str:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    return text
