"""Typed reading of resources/knowledge/*.json: facts about releases, each with its source."""

from __future__ import annotations

from importlib.resources import files
from typing import TypeVar

import msgspec

T = TypeVar("T")


def read(name: str, form: type[T]) -> T:
    """Return resources/knowledge/NAME.json as ``form``.

    Raises:
        FileNotFoundError, msgspec.ValidationError: our own data are broken; a test reads every file.
    """
    data = (files("resources") / "knowledge" / f"{name}.json").read_bytes()
    return msgspec.json.decode(data, type=form)
