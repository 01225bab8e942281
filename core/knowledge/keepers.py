"""Who maintains a file that belongs to no wheel, installer or distribution package: recognised by its folder."""

from __future__ import annotations

import re
from functools import cache

from core.knowledge.releases import SourcedRow
from core.knowledge.tables import read_table
from core.model.facts import Frozen


class Keeper(SourcedRow, frozen=True, kw_only=True):
    """A way of installing software, recognised by the folder."""

    keeper: str
    pattern: str
    """Regular expression of the folder's beginning, "/" before and after."""
    again: str
    """The command that puts a damaged package back."""


class Keepers(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/keepers.json."""

    keepers: tuple[Keeper, ...]


@cache
def _table() -> tuple[tuple[re.Pattern[str], Keeper], ...]:
    return tuple((re.compile(k.pattern), k) for k in read_table("keepers", Keepers).keepers)


def keeper_of(path: str) -> Keeper | None:
    """Return who maintains a file or folder on Linux; None for a usual place."""
    return next((k for pattern, k in _table() if pattern.match(path + "/")), None)
