"""Toolkit probe: every CUDA toolkit and set of runtime libraries, whatever installed it."""

from __future__ import annotations

from msgspec.structs import replace

from core.host.provenance import Verdict, environment_for, may_run
from core.knowledge.cuda_file_names import toolkit_locations
from core.model.facts import Toolkit
from core.probes.loading.origin import runs_here
from core.probes.probe import ProbeRequest
from core.probes.sysroot import sysroot_of, without_silent_folders
from core.probes.toolkit.contents import NVCC_RELEASE, read_toolkits
from core.probes.toolkit.locations import ToolkitSearch, find_toolkits
from core.probes.trust import record_execution, verdict_within_reach, with_least_rights

NVCC_TIMEOUT_SECONDS = 3.0
"""Seconds for ``nvcc --version``, which is run only if no file has the version."""


def look(request: ProbeRequest) -> tuple[Toolkit, ...]:
    """Return each toolkit once, with everything that names it: variables, links, search paths."""
    where = sysroot_of(request.host)
    hunt = ToolkitSearch(request=request, where=where, known=toolkit_locations())
    toolkits = (toolkit for draft in find_toolkits(hunt) for toolkit in read_toolkits(draft, hunt.known, where))
    return request.kept(_with_compiler(toolkit, request) for toolkit in toolkits)


def _with_compiler(toolkit: Toolkit, request: ProbeRequest) -> Toolkit:
    """Query the version of the nvcc that programs find on PATH, and of no other."""
    if "nvcc on PATH" not in toolkit.named_by or toolkit.nvcc_version or request.seen.machine.other_root:
        return toolkit
    where = sysroot_of(request.host)
    verdict = (
        verdict_within_reach(may_run({where.local_path(toolkit.nvcc): True})) if runs_here(where) else Verdict(may=True)
    )
    if runs_here(where):
        verdict = with_least_rights(verdict, where.local_path(toolkit.nvcc))
    record_execution("nvcc", toolkit.nvcc, verdict, request)
    if not verdict.may:
        return toolkit
    env = environment_for(verdict, without_silent_folders(request.env, where))
    done = request.host.run(
        [toolkit.nvcc, "--version"], timeout=NVCC_TIMEOUT_SECONDS, env=env, watch=request.watch,
        account=verdict.account, kind="tool",
    )  # fmt: skip
    said = NVCC_RELEASE.search(done.out)
    return replace(toolkit, nvcc_version=said[1]) if said else toolkit
