"""What to do about a cause: the steps that the text itself chooses first, then those of the cause's help page, then how to see that it worked."""

from __future__ import annotations

import re

from msgspec import structs

from core.common.i18n import N_, _
from core.common.late_pattern import late_pattern
from core.explain.given_up import names_given_up, step_of
from core.explain.model import RankedCause
from core.explain.ranking import conditions_hold
from core.knowledge.modules import distribution_of
from core.knowledge.steps import CureStep, cure_steps
from core.report.help_pages import cure_text

OF_A_PACKAGE = frozenset({"package_for_another_python", "extension_abi_mismatch", "requirement_broken"})
"""Causes whose message can name the package that the cure is about."""
OF_NAMES_GIVEN_UP = frozenset({"requirement_broken", "program_error", "package_for_another_python"})
"""Causes whose message can name what a later release of a package no longer has."""
_PLACEHOLDER = re.compile(r"\b(?:NAME|PACKAGE|PAKET)\b")
OTHER_PROGRAM = "other-program"
"""Mark of a text of a program that is no Python package: pip and ``python -c`` do nothing for it."""
OTHER_PROGRAMS = frozenset({"model-server", "julia", "rust", "dotnet"})
OF_PYTHON = frozenset(
    {"pytorch", "tensorflow", "jax", "cupy", "numba", "ctranslate2", "conda", "python-extension-module"}
)
"""Marks of Python packages, which may be called from another program, too."""
SYSTEMS = frozenset({"linux", "windows", "wsl", "ubuntu", "container", OTHER_PROGRAM})
"""Marks that say where a program runs, or of what kind it is, not what failed."""
CHECK_OF_ANY_PROGRAM = N_("It worked if nvidia-smi lists the program while it computes.")
_CHECK_OF_PYTHON = re.compile(r"\bpip (?:list|check)\b|\btorch\.")
_CUDNN = re.compile(r"(?<=nvidia-cudnn-cu)12")
_CUDA_OF_BUILD = late_pattern(r"\bcu(?:da)?(1[123])\d?\b")
_NAMED = {
    "system_library_missing": (
        late_pattern(r"(?<![\w+\-])(lib[\w+.\-]{1,60}\.so(?:\.\d{1,6}){0,3}):? cannot open shared object file"),
        re.compile(r"libGL\.so\.1"),
    ),
    "host_compiler_unsupported": (
        late_pattern(r"gcc versions later than (\d{1,2})\b"),
        re.compile(r"(?<=gcc-)12|(?<=g\+\+-)12|(?<=linux-64=)12"),
    ),
    "compiler_lacks_gpu_arch": (
        late_pattern(r"\bcomput(?:e|ing)[ _-]cap(?:ability)?[ :=,]{1,3}(?:of )?(\d{1,2}\.\d)\b"),
        re.compile(r"(?<=ARCH_LIST=)8\.6"),
    ),
    "fabric_manager_not_running": (late_pattern(r"\bdriver version:? (\d{3})\."), re.compile(r"\b570\b")),
    **dict.fromkeys(("cudnn_minor_too_old", "cudnn_not_installed", "cudnn_major_mismatch"), (_CUDA_OF_BUILD, _CUDNN)),
}  # fmt: skip
"""Cause: what names the thing in a text, and the example that stands for it in the steps."""
_PACKAGE = late_pattern(
    r"no matching distribution found for ([\w-]{2,40})|satisfies the requirement ([\w-]{2,40})|\b([\w]{2,40})-\d[^\s/\\]{0,80}\.whl is not a supported wheel"
    r"|site-packages[/\\](\w{2,40})[/\\][^\n]{1,120}undefined symbol|\b(flash_attn)_2_cuda\b"
    r"|\b([\w-]{2,40})==[\w.+]{1,30} has no wheels|distribution `([\w-]{2,40})==[^`\n]{1,120}` can't be installed"
    r"|cannot import name '\w{1,80}' from (?:partially initialized module )?'([\w.]{2,80})'|module '([\w.]{2,80})' has no attribute",
    re.IGNORECASE,
)
"""Texts that name the package that a cure is about."""
_ITEM = re.compile(r"(?:\d{1,3}\.|-) ")


def with_steps(r: RankedCause, marks: frozenset[str] = frozenset(), text: str = "") -> RankedCause:
    """Add steps for a cause without a finding, by the text's messages, frameworks, systems and packages, and a check."""
    told = r.because or r.by_words or r.may or r.verdict == "proved"
    if r.verdict == "refuted" or not told or (r.finding and r.finding.fix):
        return r
    if marks & OTHER_PROGRAMS and not marks & OF_PYTHON and "python" not in text.lower():
        marks |= {OTHER_PROGRAM}
    known = cure_steps()
    exact = [s for s in known.steps if s.cause == r.cause and conditions_hold(s.when, marks)]
    first = [_(s.step) for s in exact if _is_of_message(s)]
    first[:0] = [step_of(row) for row in names_given_up(text)] if r.cause in OF_NAMES_GIVEN_UP else []
    rest = [_(s.step) for s in exact if not _is_of_message(s)]
    check = next((told for cause, told in known.checks.items() if cause == r.cause), "")
    check = CHECK_OF_ANY_PROGRAM if OTHER_PROGRAM in marks and _CHECK_OF_PYTHON.search(check) else check
    # a page whose cause has no check in the table ends with its own
    chosen, page = _page(r.cause, marks, bool(first), [] if check else rest)
    if OTHER_PROGRAM in marks and page and _CHECK_OF_PYTHON.search(page[-1]):
        page = page[:-1]
    steps = "\n".join(
        part for part in (*chosen, *first, *page, *(rest if check else ()), _(check) if check else "") if part
    )
    if r.cause in _NAMED:
        names, example = _NAMED[r.cause]
        named = {m[1] for m in names.finditer(text)}
        steps = example.sub(named.pop(), steps) if len(named) == 1 else steps
    package = next((name for m in _PACKAGE.finditer(text) for name in m.groups() if name), "")
    return structs.replace(
        r, steps=_PLACEHOLDER.sub(distribution_of(package), steps) if package and r.cause in OF_A_PACKAGE else steps
    )


def _is_of_message(step: CureStep) -> bool:
    """Whether something that the text says chooses the step, not only its system."""
    return any(not part.startswith("!") and SYSTEMS.isdisjoint(part.split("|")) for part in step.when)


def _page(cause: str, marks: frozenset[str], has_own: bool, more: list[str]) -> list[list[str]]:
    """Return the steps of a cause's page: those for the text's message, and the rest.

    ``more`` comes before its last line. A step for the other system goes; if the text's message has a step, here or elsewhere (``has_own``), those for other messages go, too.
    """
    lines = [line for line in cure_text(cause).split("\n") if line]
    lines[-1:-1] = [("1. " if _ITEM.match(lines[-1]) else "") + step for step in more]
    only = {row.item: row for row in cure_steps().only if row.cause == cause}
    fits = [at for at in range(1, len(lines) + 1) if at not in only or _is_of_system(only[at].system, marks)]
    first = [at for at in fits if at in only and only[at].when and conditions_hold(only[at].when, marks)]
    rest = [at for at in fits if at not in first and not ((first or has_own) and at in only and only[at].when)]
    number = {at: f"{n}. " if _ITEM.match(lines[at - 1]) else "" for n, at in enumerate((*first, *rest), 1)}
    return [[number[at] + _ITEM.sub("", lines[at - 1], count=1) for at in part] for part in (first, rest)]


def _is_of_system(system: str, marks: frozenset[str]) -> bool:
    """Whether a step for a system ("": any) is for the text's, or for one of those that the text leaves open."""
    windows = "windows" in marks and "wsl" not in marks
    return not (system == "linux" and windows) and not (system == "windows" and "linux" in marks and not windows)
