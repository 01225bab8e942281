"""Fetch the wheel with a cuDNN for this machine, by hash, where there is no copy to place, so that no browser is needed."""

from __future__ import annotations

import os
import shutil
import sys

from core.common.i18n import _
from core.common.progress import Progress
from core.common.versions import version_tuple
from core.fixes.packages.installer import (
    Installer,
    Sources,
    Wanted,
    cached_wheels,
    may_start,
    pip_place,
    without_secrets,
)
from core.fixes.packages.pip_script import pip_command
from core.host import safe_folder, scratch
from core.host.interface import Host
from core.host.provenance import trusted_environment
from core.model.changes import ChangeError, Package
from core.model.facts import CudnnCopy, Snapshot
from core.model.findings import Finding
from core.rules.consumer_loads import consumer_loads
from core.rules.cudnn.files import release_of
from core.rules.frameworks.fit import gpu_side
from core.transaction.journal import Journal

ZLIB_INSIDE = "8.9.4"
"""The first release that opens no zlibwapi.dll (compatibility.json, "zlib_static")."""


def cudnn_requirement(finding: Finding, seen: Snapshot) -> str:
    """Return the requirement on NVIDIA's wheel that has the cuDNN a finding lacks; empty where that cannot be determined.

    A faulty copy gets its very release; a program without one the newest of the major version that it asks for.
    """
    if finding.cause == "zlibwapi_missing":
        its = copy_of_consumer(finding, seen)
        return f"nvidia-cudnn-cu{its.cuda_major}>={ZLIB_INSIDE},<9" if its and its.cuda_major else ""
    copy = next((c for c in seen.cudnn or () if c.folder == finding.subject), None)
    release = release_of(copy) if copy else None
    if copy and copy.cuda_major and release and finding.cause not in ("cudnn_minor_too_old", "cudnn_major_mismatch"):
        return f"nvidia-cudnn-cu{copy.cuda_major}=={release}.*"
    load = next((x for x in seen.loads or () if x.consumer.full_id in finding.consumers), None)
    if load is None or load.major is None:
        return ""
    cuda = _cuda_major(seen, load.consumer.prefix)
    if not cuda:
        return ""
    least = load.wanted_version if version_tuple(load.wanted_version)[:1] == (load.major,) else load.major
    return f"nvidia-cudnn-cu{cuda}>={least},<{load.major + 1}"


def copy_of_consumer(finding: Finding, seen: Snapshot) -> CudnnCopy | None:
    """Return the cuDNN that the program of a finding takes."""
    loads = (c for c in consumer_loads(seen) if c.load.consumer.full_id in finding.consumers)
    return next((c.copy for c in loads if c.copy), None)


def _cuda_major(seen: Snapshot, prefix: str) -> str:
    """Return the CUDA that an environment's frameworks were built for, else the driver's."""
    its = {b.cuda.partition(".")[0] for b in seen.builds if prefix and b.prefix == prefix and b.cuda}
    return its.pop() if len(its) == 1 else gpu_side(seen).cuda.partition(".")[0]


class Fetcher:
    """A pip of this machine's that only downloads: it belongs to no environment that would be changed."""

    def __init__(self, host: Host, watch: Progress) -> None:
        self._host = host
        self._watch = watch
        self._pip = Installer(pip_command(_python_with_pip(host, watch)), host, watch)

    def origin(self, sources: Sources) -> str:
        """Return where the wheel would come from, in one sentence; empty where nothing would be fetched."""
        if not sources.uses_network:
            return ""
        if sources.index:
            return _("The packages come from {address}, and from nowhere else.", address=without_secrets(sources.index))
        known = ", ".join(self._pip.configured_indexes())
        if known:
            return _("{name} is configured to ask {addresses}.", name="pip", addresses=known)
        return _("The packages come from {name}'s default index.", name="pip")

    def fetch(self, requirement: str, sources: Sources, journal: Journal) -> tuple[str, Package]:
        """Return the path of the wheel in the journal's staging folder, and what it is, with its hash.

        Raises:
            ChangeError: it could not be had.
        """
        safe_folder.make_folders(str(journal.staging), 0o700)
        into = scratch.make_scratch(journal.staging)
        kept = None if sources.uses_network else cached_wheels(self._host, into)
        wanted = Wanted(
            requirements=(requirement,),
            index=sources.index,
            alone=True,
            folders=(str(kept),) if kept else (),
            fetches=sources.uses_network,
            fresh=True,
        )
        found = self._pip.resolve(wanted, into)
        if not found:
            raise ChangeError(_("No wheel was found for {requirement}.", requirement=requirement))
        package = self._pip.fetch(found, wanted, into)[0]
        wheel = next((into / "wheels").glob("*.whl"))
        return str(wheel), package


def _python_with_pip(host: Host, watch: Progress) -> str:
    path = trusted_environment(host.fresh_environment()).get("PATH", "")
    own = [] if getattr(sys, "frozen", False) else [sys.executable]
    found = (shutil.which(name, path=path) for name in ("python3", "python", "py"))
    for python in dict.fromkeys((*own, *(os.path.abspath(f) for f in found if f))):  # noqa: PTH100 - links stay
        if may_start(python) and pip_place(python, host, watch):
            return python
    raise ChangeError(_("There is no Python with pip here that could fetch it; download the wheel, and name its file."))
