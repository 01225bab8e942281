"""Code that an interpreter on Windows runs at every start, and that takes from PATH what a framework opens by name."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.common.text import join_names
from core.model.facts import Snapshot
from core.model.findings import Finding
from core.model.paths import file_name
from core.rules.advice import start_code_rows, without_start_code
from core.rules.frameworks.environment_view import environment_views
from core.rules.wording import make_finding, observation

NOT_FOUND = 126
"""ERROR_MOD_NOT_FOUND."""


def path_by_start_code(seen: Snapshot) -> Iterator[Finding]:
    """Start-up code gives PATH a value of its own, and a library that is found without that code was not found when it was loaded."""
    if seen.machine.system != "windows":
        return
    views = {h.python.prefix: h for h in environment_views(seen)}
    for search in seen.imports or ():
        code, value = next(((c, v) for c in search.start_code for n, v in c.sets if n.upper() == "PATH"), (None, ""))
        home = views.get(search.prefix)
        if code is None or home is None:
            continue
        for closure in seen.closures or ():
            if closure.consumer.prefix != search.prefix:
                continue
            told = {edge.name.lower() for edge in closure.edges}
            lost = [
                o.library for o in closure.openings or () if o.number == NOT_FOUND and o.library.lower() not in told
            ]
            if not lost:
                continue
            names = join_names([file_name("windows", each) for each in lost])
            yield make_finding(
                f"frameworks.path-by-start-code-{closure.consumer.framework.partition(' ')[0]}",
                home.severity,
                _(
                    "{names} is not found in {prefix}: {source} gives PATH a value of its own at each start.",
                    names=names,
                    prefix=search.prefix,
                    source=code.source,
                ),
                cause="process_env_not_inherited",
                why=_(
                    "Python runs this code before any program of the environment. What PATH names outside of it is not searched."
                ),
                evidence=[
                    *start_code_rows(code, "PATH", value),
                    *(observation(each, f"LoadLibraryExW: {NOT_FOUND}", search.prefix) for each in lost),
                    home.concerns(closure.consumer.framework),
                ],
                subject=code.source,
                fix=without_start_code(code, _("Let {source} add to PATH instead of replacing it", source=code.source)),
            )


RULES = (path_by_start_code,)
