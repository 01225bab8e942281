"""Read resources/knowledge/*.json into types: facts about releases, each with its source."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import resources
from core.common.decoding import ONE_AT_A_TIME

T = TypeVar("T")


def read_table(name: str, form: type[T]) -> T:
    """Return resources/knowledge/NAME.json as ``form``, read once: rules need a table dozens of times.

    Raises:
        FileNotFoundError, msgspec.ValidationError: our own data are broken; a test reads every file.
    """
    table: T = _read_file(name, form)  # type: ignore[arg-type]  # every form is hashable
    return table


@cache
def _read_file(name: str, form: Any) -> Any:
    # importlib.resources would cost every scan 10 ms, for archives that we never live in
    folder = Path(resources.__path__[0], "knowledge")
    data = (folder / f"{name}.json").read_bytes()
    with ONE_AT_A_TIME:
        return msgspec.json.decode(data, type=form)
