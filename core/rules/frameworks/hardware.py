"""Rules about a framework's needs apart from the GPU: processor instructions, and memory on Windows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _, format_number
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.frameworks import RequiredInstructions, framework_tables
from core.knowledge.horizon import is_beyond_horizon, release_family
from core.model.facts import Distribution, Snapshot
from core.model.findings import Finding
from core.rules.frameworks.builds import on_gpu
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.wording import ERROR, WARNING, make_finding, manual_fix, observation

BYTES_PER_GIB = 1 << 30
INSTRUCTION_NAMES = {"avx": "AVX", "avx2": "AVX2", "fma": "FMA", "sse4_1": "SSE4.1", "sse4_2": "SSE4.2"}
PACKAGE_OWNERS = {"jaxlib": "jax"}


def without_instructions(seen: Snapshot) -> Iterator[Finding]:
    """A build uses instructions that this processor lacks, so it cannot even be imported."""
    here = seen.machine.instructions
    if here is None or seen.machine.architecture != "x86_64":
        return
    for home in environment_views(seen):
        for d in home.python.distributions:
            for row in framework_tables().instructions:
                lacking = [n for n in row.needs if n not in here]
                if (
                    not lacking
                    or not re.fullmatch(row.distribution, d.name)
                    or version_tuple(d.version) < version_tuple(row.first)
                ):
                    continue
                if not is_beyond_horizon(release_family(d.name), d.version):
                    yield _without_instructions(home, d, row, lacking)


def _without_instructions(
    home: EnvironmentView, d: Distribution, row: RequiredInstructions, lacking: list[str]
) -> Finding:
    here = home.seen.machine.instructions or ()
    names = join_names(INSTRUCTION_NAMES[n] for n in lacking)
    return make_finding(
        f"frameworks.instructions-{d.name}",
        home.severity,
        _(
            "{package} in {prefix} needs a processor with {names}.",
            package=f"{d.name} {d.version}",
            prefix=home.python.prefix,
            names=names,
        ),
        cause="cpu_instruction_set_missing",
        why=_(
            "This processor does not have these instructions, or the virtual machine does not pass them on. The import ends with an illegal instruction."
        ),
        evidence=[
            observation(
                _("The processor has"),
                join_names((INSTRUCTION_NAMES[n] for n in here), 9) or _("none of these"),
                _("the system's list"),
            ),
            observation(_("The build needs"), names, row.source),
            home.concerns(PACKAGE_OWNERS.get(d.name, d.name)),
        ],
        subject=home.python.prefix,
        fix=manual_fix(
            _("Use a computer with {names}, or a build that does not need them", names=names),
            _("In a virtual machine: pass through the host's processor."),
            _(
                "The publisher's own packages need {names} from {package} {first} on.",
                names=names,
                package=d.name,
                first=row.first,
            ),
        ),
    )


def page_file(seen: Snapshot) -> Iterator[Finding]:
    """Windows can commit less memory than loading PyTorch's libraries needs."""
    left, limit = seen.machine.commit_left, seen.machine.commit_limit
    if left is None or limit is None:
        return
    for home in environment_views(seen):
        build = home.build("torch")
        if build is None or build not in on_gpu(home) or build.commit is None or build.commit <= left or home.near > 3:
            continue
        never = build.commit > limit
        yield make_finding(
            "frameworks.page-file",
            min(home.severity, ERROR if never else WARNING),
            _(
                "Windows cannot commit the memory that torch {version} in {prefix} needs.",
                version=build.version,
                prefix=home.python.prefix,
            ),
            cause="page_file_too_small",
            why=_(
                "Every process that imports it needs a private copy of what its libraries can write to, used or "
                "not. If the page file is too small, the import fails with WinError 1455."
            )
            if never
            else _(
                "Every process that imports it needs a private copy of what its libraries can write to, used or "
                "not. Other programs have taken so much that the import fails now, with WinError 1455."
            ),
            evidence=[
                observation(
                    _("Its libraries ask for"), _size(build.commit), _("writable sections of the DLLs in torch\\lib")
                ),
                observation(_("Windows can still commit"), _size(left), "GlobalMemoryStatusEx"),
                observation(_("Memory and page file together"), _size(limit), "GlobalMemoryStatusEx"),
                home.concerns("torch"),
            ],
            subject=home.python.prefix,
            fix=manual_fix(
                _("Let Windows manage the page file"),
                _(
                    "Settings, System, About, Advanced system settings, Performance, Advanced, Virtual memory: let Windows manage the size, and restart."
                ),
                _("Fewer worker processes (num_workers) need less."),
                restart="computer",
            ),
        )


def _size(count: int) -> str:
    return _("{size} GiB", size=format_number(count / BYTES_PER_GIB, 1))


RULES = (without_instructions, page_file)
