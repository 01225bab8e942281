"""Merge findings about one missing dependency: several rules or consumers may report the same library, mount or package."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.model.facts import Snapshot
from core.model.findings import Finding
from core.model.remedies import InstallPackages, join_remedies
from core.model.steps import Step
from core.rules.frameworks.environment_view import FRAMEWORKS
from core.rules.frameworks.finding_ids import ENDED_ID, LIBRARIES_ID, OF_WHOLE_VARIABLES, UNFIT_ID
from core.rules.wording import NOTE

JOINED: frozenset[str] = frozenset(
    (
        *("cudnn_not_on_search_path", "cuda_not_on_search_path", "cuda_runtime_missing", "cudnn_not_installed"),
        *("corrupt_or_truncated_file", "library_unreadable", "dll_wrong_architecture", "nvrtc_missing_or_mismatch"),
        *("requirement_broken", "cuda_lib_shadowed", "extension_abi_mismatch"),
    )
)
"""Causes of findings that the finding about all missing dependencies of a consumer includes."""


def join_cards(found: list[Finding], seen: Snapshot) -> list[Finding]:
    """Return the findings with one for each consumer, which includes what other rules report of the same dependency.

    If only cuDNN is missing, its own rules know more, and their finding stays instead.
    """
    cards = {f.consumers[0]: f for f in found if f.id.partition(".")[2].startswith(LIBRARIES_ID) and f.consumers}
    lacks = {c.consumer.full_id: c for c in seen.closures or ()}
    gone: set[int] = set()
    whole: dict[int, Finding] = {}
    for who, card in cards.items():
        others = [
            f
            for f in found
            if f is not card
            and f.severity > NOTE
            and f.cause in JOINED
            and {*map(_framework, f.consumers)} == {_framework(who)}
            if f.id not in OF_WHOLE_VARIABLES
            if not _is_of_an_import(f) or set(f.all_subjects) & set(card.all_subjects[1:])
        ]
        names = {e.name for e in lacks[who].edges} if who in lacks else set()
        if names and all("cudnn" in n for n in names) and any(f.step is Step.CUDNN for f in others):
            gone.add(id(card))
            continue
        if card.cause == "cuda_toolkit_version_mismatch":
            majors = [f for f in found if f.cause == "cudnn_major_mismatch" and set(f.consumers) == {who}]
            gone |= {id(f) for f in majors}
            rows = (e for f in majors for e in f.evidence if e not in card.evidence)
            whole[id(card)] = replace(card, evidence=(*card.evidence, *rows))
        for f in (f for f in others if set(f.consumers) != {who} and f.cause == "cudnn_not_installed"):
            its = whole.get(id(card), card)
            rows = (e for e in f.evidence if e not in its.evidence)
            both = isinstance(its.remedy, InstallPackages) and isinstance(f.remedy, InstallPackages)
            remedy = join_remedies(its.remedy, f.remedy) if both else its.remedy
            whole[id(card)] = replace(its, evidence=(*its.evidence, *rows), remedy=remedy)
        gone |= {id(f) for f in others if f.cause != "requirement_broken" or "nvidia" in f.subject}
    return list(_one_of_a_mount(_one_of_a_library([whole.get(id(f), f) for f in found if id(f) not in gone])))


def _framework(who: str) -> str:
    """Return a consumer, with one name for the parts of JAX: its plug-in comes in two, which nobody uses alone."""
    return re.sub(r"/jax(?:lib|-cuda\d+-(?:plugin|pjrt)):", "/jax:", who)


def _is_of_an_import(finding: Finding) -> bool:
    """Whether it is about a module that an import does not get: another fault than a library that is not found, unless of one file."""
    return finding.id.partition(".")[2].startswith((ENDED_ID, UNFIT_ID))


def _one_of_a_library(found: list[Finding]) -> list[Finding]:
    """Return the findings with one for each library that is too old, or wrong, for several consumers of an environment."""

    def shared(f: Finding) -> tuple[str, ...]:
        mine = f.id.partition(".")[2].startswith(LIBRARIES_ID) and f.cause in SHARED_CAUSES
        return (f.cause, *f.all_subjects) if mine and len(f.all_subjects) > 1 else ()

    first: dict[tuple[str, ...], Finding] = {}
    for f in found:
        key = shared(f)
        lead = first.get(key) if key else None
        if key and (lead is None or FRAMEWORKS.fullmatch(f.id.partition(LIBRARIES_ID)[2])):
            first[key] = f
    return [_joined(f, [o for o in found if shared(o) == shared(f)]) if shared(f) else f
            for f in found if not shared(f) or first[shared(f)] is f]  # fmt: skip


SHARED_CAUSES = ("cxx_runtime_too_old", "ld_library_path_override", "cuda_lib_shadowed")


def _joined(lead: Finding, same: list[Finding]) -> Finding:
    """Return a finding with the evidence and consumers of others about the same fault."""
    if len(same) == 1:
        return lead
    return replace(
        lead,
        evidence=tuple(dict.fromkeys((*lead.evidence, *(e for o in same for e in o.evidence)))),
        subjects=lead.subjects and tuple(dict.fromkeys(s for o in (lead, *same) for s in o.all_subjects)),
        consumers=tuple(dict.fromkeys((*lead.consumers, *(c for o in same for c in o.consumers)))),
    )


def _one_of_a_mount(found: list[Finding]) -> Iterator[Finding]:
    """Yield the findings with one for each environment on a file system from which nothing can run; a framework's finding leads."""
    on_mounts = [f for f in found if f.cause == "noexec_mount" and f.step is Step.FRAMEWORKS]
    for f in found:
        same = [o for o in on_mounts if o.subject == f.subject] if f in on_mounts else [f]
        lead = next((o for o in same if FRAMEWORKS.fullmatch(o.id.partition(LIBRARIES_ID)[2])), same[0])
        if f is lead:
            yield _joined(f, same)
