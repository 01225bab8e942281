"""What the person may be offered beside a finding's own fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.model.steps import Severity, Step

if TYPE_CHECKING:
    from core.knowledge.causes import Cause
    from core.model.findings import Finding


CURED_IN_PLACE: frozenset[Cause] = frozenset(
    {"cudnn_sublibrary_missing", "corrupt_or_truncated_file", "mixed_cudnn_sublibraries", "dll_wrong_architecture"}
)
"""Causes in a copy's own files: the same release, placed in the same folder, completes it."""

CURED_BY_NEWER: frozenset[Cause] = frozenset({"zlibwapi_missing"})
"""Causes of a release: a newer one of the same major version replaces it in the same folder."""

CURED_BY_A_SET: frozenset[Cause] = (
    CURED_IN_PLACE
    | CURED_BY_NEWER
    | {"cudnn_not_installed", "cudnn_major_mismatch", "cudnn_cuda_major_mismatch", "cudnn_minor_too_old"}
)
"""Causes that a complete cuDNN can cure; the rehearsal decides whether the named one does."""


def takes_cudnn(finding: Finding) -> bool:
    """Whether a person who has downloaded cuDNN can be helped by placing it."""
    done = finding.fix is not None and finding.fix.changes
    at_fault = finding.severity >= Severity.WARNING and finding.step is Step.CUDNN
    return at_fault and finding.cause in CURED_BY_A_SET and not done
