r"""An administrator's settings for this computer, from group policy: the values of HKLM\Software\Policies\Convalesce.

Only an administrator can write there. Linux has none.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from core.common.i18n import _
from core.model.facts import Frozen

POLICY_KEY = r"Software\Policies\Convalesce"


class Policy(Frozen, frozen=True, kw_only=True):
    """The settings in force; the defaults where the policy sets none."""

    scan_only: bool = False
    """Nothing is changed. What was changed before may still be taken back."""
    no_elevation: bool = False
    """Nobody is asked for administrator rights."""
    report_share: str = ""
    """The folder where each scan's report goes, too."""
    language: str = ""
    """The language where the person chose none."""


UNDECIDED = Policy()


def policy_from(values: Mapping[str, object]) -> Policy:
    """Return the policy from registry values. A value of an unexpected type has no effect."""
    kept = {name.lower(): value for name, value in values.items()}

    def is_on(name: str) -> bool:
        value = kept.get(name)
        return isinstance(value, int) and value != 0

    def text(name: str) -> str:
        value = kept.get(name)
        return value.strip() if isinstance(value, str) else ""

    return Policy(
        scan_only=is_on("scanonly"),
        no_elevation=is_on("noelevation"),
        report_share=text("reportshare"),
        language=text("language"),
    )


def this_policy() -> Policy:
    """Read this computer's policy."""
    if sys.platform == "win32":
        from core.host.windows.system import machine_values

        return policy_from(machine_values(POLICY_KEY))
    return UNDECIDED


def change_obstacle(policy: Policy, *, elevated: bool) -> str:
    """Return why the policy forbids changes, in a sentence; empty if it allows them."""
    if policy.scan_only:
        return _("Your administrator allows Convalesce only to scan this computer (policy ScanOnly).")
    return elevation_obstacle(policy) if elevated else ""


def elevation_obstacle(policy: Policy) -> str:
    """Return why the policy forbids asking for administrator rights, in a sentence; empty if it allows it."""
    if policy.no_elevation:
        return _(
            "Your administrator does not let Convalesce use administrator rights on this computer (policy NoElevation)."
        )
    return ""
