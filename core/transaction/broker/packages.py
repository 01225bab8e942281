"""Packages of an environment: never."""

from __future__ import annotations

from core.common.i18n import _
from core.model.changes import Change, ExchangePackages
from core.transaction.broker.ground import Ground


def refusal(_change: Change, _ground: Ground, _back: bool) -> str:
    """Refuse every plan: an installer runs what others wrote."""
    return _("Packages are not changed with administrator rights.")


def words(change: Change) -> tuple[str, ...]:
    """Return what the change does, in words made from its data."""
    assert isinstance(change, ExchangePackages)
    return (_("Change the packages of {prefix}.", prefix=change.prefix),)
