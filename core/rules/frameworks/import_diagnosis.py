"""The cause of an import that failed, as data: what rules about trials say, and what removes it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from core.knowledge.causes import Cause
from core.model.facts import ImportFailure
from core.model.findings import Fix
from core.model.remedies import Remedy


class Cure(NamedTuple):
    """What removes a cause: the words for a person, and what this program can do itself."""

    fix: Fix | None = None
    remedy: Remedy | None = None


class ImportDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The cause of a failed import, according to its message and the files."""

    failure: ImportFailure
    cause: Cause
    title: str
    """A sentence with {who} and {prefix}, and the names in ``values``."""
    values: dict[str, str] = {}
    why: str
    about: str
    """The file, module, requirement or variable that is at fault; each fault gets one finding."""
    subject: str = ""
    cure: Cure = Cure()


def file_at_fault(
    failure: ImportFailure, file: str, cause: Cause, title: str, *, why: str, cure: Cure
) -> ImportDiagnosis:
    """Return the diagnosis that one file is at fault; ``title`` names it as {file}."""
    return ImportDiagnosis(
        failure=failure, cause=cause, title=title, values={"file": file}, why=why, about=file, subject=file, cure=cure
    )
