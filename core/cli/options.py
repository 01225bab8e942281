"""Options that several commands have, and what reads the values of options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from core.common.i18n import _

if TYPE_CHECKING:
    import argparse


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help=_("print one JSON document and nothing else"))


def add_python(parser: argparse.ArgumentParser, means: str = "") -> None:
    """Add ``--python``, as often as the person likes. ``means``: its help."""
    parser.add_argument(
        "--python",
        type=option_value,
        action="append",
        default=[],
        metavar="PATH",
        help=means or _("an interpreter or environment to examine; can be repeated"),
    )


def add_depth(parser: argparse.ArgumentParser) -> None:
    """Add ``--thorough`` and ``--try``: how much a scan reads and runs."""
    parser.add_argument(
        "--thorough",
        action="store_true",
        help=_("like --try, but import all packages, and compare every file with the hashes of its wheel"),
    )
    parser.add_argument(
        "--try",
        action="store_true",
        dest="trials",
        help=_(
            "also import the frameworks in their own interpreters, run a convolution, and import packages that take little time"
        ),
    )


def add_full_names(parser: argparse.ArgumentParser) -> None:
    """Add ``--full-names``."""
    parser.add_argument("--full-names", action="store_true", help=_("keep user, host and device names in the output"))


def add_only(parser: argparse.ArgumentParser) -> None:
    """Add ``--only``: the steps to examine."""
    parser.add_argument(
        "--only", default="", metavar="STEP,...", help=_("driver, toolkit, cudnn, environment, frameworks")
    )


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the recorded report that a command reads."""
    parser.add_argument(
        "report", type=given_path, metavar="REPORT.json", help=_("a report that `convalesce scan --json` wrote")
    )


def number_within(low: int, high: int) -> Callable[[str], int]:
    """Return what reads the value of an option that is a whole number from ``low`` to ``high``."""

    def read(text: str) -> int:
        from core.common.versions import whole_number

        number = whole_number(text)
        if number is None or not low <= number <= high:
            raise not_within(text, low, high)
        return number

    return read


def not_within(text: str, least: float, most: float) -> argparse.ArgumentTypeError:
    """Return what to raise for a value that is not between two numbers."""
    from argparse import ArgumentTypeError

    return ArgumentTypeError(
        _("{value} is not a number from {least} to {most}", value=repr(text), least=least, most=most)
    )


def option_value(text: str) -> str:
    """Return the value of an option.

    Raises:
        ArgumentTypeError: it is empty, probably because a variable is not set.
    """
    from argparse import ArgumentTypeError

    if not text.strip():
        raise ArgumentTypeError(_("it is empty: is a variable not set?"))
    return text


def given_path(text: str) -> Path:
    """Return the path of an option.

    Raises:
        ArgumentTypeError: it is empty, and would be the folder that the program runs in.
    """
    return Path(option_value(text))
