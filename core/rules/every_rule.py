"""Every rule, in the order in which they run; a new module of rules is listed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from core.model.facts import Snapshot
from core.model.findings import Finding
from core.rules import (
    collectives,
    confinement,
    environment,
    gone_files,
    newer,
    not_run,
    programs,
    toolkit,
    toolkit_dependencies,
    tools,
    which_python,
)
from core.rules import incomplete_scan as scan
from core.rules.benchmark import results as benchmark
from core.rules.cudnn import copies as cudnn
from core.rules.cudnn import loading
from core.rules.driver import compatibility as gpu_fit
from core.rules.driver import gpu_access as devices
from core.rules.driver import parts, start_code
from core.rules.driver import status as driver
from core.rules.frameworks import environments as frameworks
from core.rules.frameworks import start_code as started_with
from core.rules.frameworks import tools as framework_tools
from core.rules.frameworks.libraries import findings as libraries
from core.rules.variables import contracts, own_code

Rule = Callable[[Snapshot], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    *driver.RULES,
    *devices.RULES,
    *start_code.RULES,
    *started_with.RULES,
    *gpu_fit.RULES,
    *parts.RULES,
    *toolkit.RULES,
    *toolkit_dependencies.RULES,
    *tools.RULES,
    *loading.RULES,
    *cudnn.RULES,
    *environment.RULES,
    *contracts.RULES,
    *own_code.RULES,
    *which_python.RULES,
    *confinement.RULES,
    *gone_files.RULES,
    *programs.RULES,
    *frameworks.RULES,
    *libraries.RULES,
    *framework_tools.RULES,
    *collectives.RULES,
    *benchmark.RULES,
    *newer.RULES,
    *scan.RULES,
    *not_run.RULES,
)
