"""Rules about packages that somebody asked for, beside another series of what they require."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.model.facts import Misfit, Snapshot
from core.model.findings import Finding
from core.rules.frameworks.advice import reinstall_requirement
from core.rules.frameworks.environment_view import EnvironmentView
from core.rules.frameworks.imports import views_with_imports
from core.rules.wording import NOTE, WARNING, concern_row, make_finding, observation


def other_series(seen: Snapshot) -> Iterator[Finding]:
    """A package that nothing else requires asks for another series of one that is installed."""
    for home, search in views_with_imports(seen):
        for wanted in dict.fromkeys(m.wanted for m in search.misfits) if home.near <= 3 else ():
            yield _finding(home, [m for m in search.misfits if m.wanted == wanted])


def _finding(home: EnvironmentView, its: list[Misfit]) -> Finding:
    first = its[0]
    works = {p.distribution for t in home.trials for p in t.packages if p.state == "imported"}
    return make_finding(
        f"frameworks.series-{first.wanted}",
        NOTE if all(m.distribution in works for m in its) else min(home.severity, WARNING),
        _(
            "{name} {version} requires {wanted}{specifier}, but {installed} is installed.",
            name=first.distribution,
            version=first.version,
            wanted=first.wanted,
            specifier=first.specifier,
            installed=first.installed,
        ),
        cause="requirement_broken",
        why=_(
            "Something that was installed later brought a release series of it that the package was not written for."
        ),
        evidence=[
            *(
                observation(
                    _("Required"),
                    f"{m.wanted}{m.specifier}",
                    _("metadata of {name} {version}", name=m.distribution, version=m.version),
                )
                for m in its
            ),
            observation(_("Installed"), f"{first.wanted} {first.installed}", first.location),
            *(concern_row(home.python.consumer(f"{m.distribution} {m.version}")) for m in its),
        ],
        subject=home.python.prefix,
        fix=reinstall_requirement(
            home.seen, home.python, f"{first.wanted}{','.join(dict.fromkeys(m.specifier for m in its))}"
        ),
    )


RULES = (other_series,)
