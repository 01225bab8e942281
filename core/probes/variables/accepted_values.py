"""How code uses a variable, and whether a value is one that it accepts."""

from __future__ import annotations

import re
from typing import Literal

from core.model.facts import Frozen

Takes = Literal["whole number", "number", "switch", "words", "JSON", "file", "folder", "path", "module"]
Case = Literal["", "lower", "upper"]

ON = ("1", "true", "yes", "on", "y", "t")
"""What is on wherever a variable is a switch; compared in lower case."""
SWITCHES = ("", "y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")


class CodeValue(Frozen, frozen=True, kw_only=True):
    """How a piece of code uses a variable."""

    variable: str
    takes: Takes
    line: int
    words: tuple[str, ...] = ()
    """Accepted words: of an enumeration, or in addition to the conversion."""
    case: Case = ""
    """The letter case that the code gives the value before comparing."""
    at_import: bool = False
    """The code runs when its module is imported."""
    required: bool = False
    """The code raises an exception unless the path is there."""


def takes_value(code: CodeValue, value: str) -> bool:
    """Whether the conversion succeeds.

    An empty value counts as accepted, since most code tests for it first. So does the name of a file or folder; the
    caller checks whether it exists.
    """
    text = value.strip()
    if code.takes == "module":
        return text.lower() not in ON  # whether the module is there is for the caller to see
    cased = text.lower() if code.case == "lower" else text.upper() if code.case == "upper" else text
    if not text or cased in code.words:
        return True
    match code.takes:
        case "whole number":
            return bool(re.fullmatch(r"[+-]?\d+(_\d+)*", text))
        case "number":
            try:
                float(text)
            except ValueError:
                return False
        case "switch":
            return value.lower() in SWITCHES  # distutils' strtobool, and JAX's: a blank is part of the value
        case "words":
            return False
        case "JSON":
            import json  # imported late: few machines have such a variable

            try:
                json.loads(text)
            except (ValueError, RecursionError):
                return False
    return True
