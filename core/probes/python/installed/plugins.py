"""Plug-ins that a framework loads as it is imported, by the entry points of installed packages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from core.common.versions import is_older
from core.knowledge.modules import PluginGroup, module_table
from core.model.facts import Distribution, Frozen, PythonEnvironment
from core.probes.python.installed.gone_files import every_distribution
from core.probes.sysroot import Sysroot

MAX_BYTES = 64 << 10
"""Of an entry_points.txt."""


class Plugin(Frozen, frozen=True):
    """What a framework imports of another package."""

    framework: str
    """The framework's module."""
    module: str
    distribution: Distribution

    @property
    def owner(self) -> str:
        """Name and version of the distribution."""
        return f"{self.distribution.name} {self.distribution.version}"


def framework_plugins(
    python: PythonEnvironment, env: Mapping[str, str], where: Sysroot, *, off: bool = False
) -> tuple[Plugin, ...]:
    """Return the plug-ins that the frameworks of an environment load; with ``off`` those that they would, did a variable not turn it off."""
    groups = [r for r in module_table().plugins if _has(r, python) and (env.get(r.switch, "1") != "1") is off]
    if not groups:
        return ()
    return tuple(p for what in every_distribution(python, where) for p in _of_distribution(what, groups, where))


def _has(row: PluginGroup, python: PythonEnvironment) -> bool:
    """Whether the environment has a framework that loads such plug-ins."""
    patterns = [m.distributions for m in module_table().modules if m.module == row.module]
    its = next((d for d in python.distributions for p in patterns if re.fullmatch(p, d.name)), None)
    return its is not None and is_older(its.version, row.first) is False


def _of_distribution(what: Distribution, groups: list[PluginGroup], where: Sysroot) -> Iterator[Plugin]:
    folder = f"{what.name.replace('-', '_')}-{what.version}.dist-info"
    text = where.text(where.join(what.location, folder, "entry_points.txt"), MAX_BYTES) or ""
    for row in groups:
        section = re.search(rf"(?ms)^\[{re.escape(row.group)}\][ \t]*$(.*?)(?=^\[|\Z)", text)
        for module in re.findall(r"(?m)^[^#=\n]+=[ \t]*([\w.]+)", section[1] if section else ""):
            yield Plugin(row.module, module, what)
