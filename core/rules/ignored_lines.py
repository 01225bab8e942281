"""Lines of files of variables that their reader ignores, told where a program lacks what they would set."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from core.common.i18n import _, join_sentences
from core.model.facts import Snapshot, Start, StartLine
from core.model.facts.starting import OF_WINDOWS
from core.model.findings import Evidence, Finding
from core.model.steps import Severity
from core.rules.gone_files import NOT_FOUND
from core.rules.ways import CONCRETE
from core.rules.wording import manual_fix, observation

OF_IMAGES = ("dockerfile", "containerfile")
"""Words in the names of files in which ENV sets what stays."""


def with_ignored_lines(found: Iterable[Finding], seen: Snapshot) -> list[Finding]:
    """Return the findings; one about what is not found says which line of a way of starting has no effect."""
    starts = [s for s in seen.starts or () if s.ignored and s.kind in CONCRETE and s.prefix]
    return [_with_lines(f, starts) for f in found] if starts else list(found)


def _with_lines(finding: Finding, starts: list[Start]) -> Finding:
    if finding.severity < Severity.WARNING or finding.cause not in NOT_FOUND:
        return finding
    rows = dict.fromkeys(r for s in starts if _concerns(finding, s) for r in s.ignored if _would_help(finding, r))
    if not rows:
        return finding
    why = join_sentences(finding.why, *map(no_effect, rows))
    if all(r.form in OF_WINDOWS for r in rows):
        return replace(finding, why=why, evidence=(*finding.evidence, *map(_row, rows)))
    fix = manual_fix(*advice_on(next(iter(rows))))
    return replace(finding, why=why, evidence=(*finding.evidence, *map(_row, rows)), fix=fix, remedy=None)


def _is_literal(row: StartLine) -> bool:
    """Whether the line counts, but not as it was meant: "$HOME" or "~" are letters there."""
    return not row.overridden


def no_effect(row: StartLine) -> str:
    """Return why a line has no effect, or another one than it seems."""
    if _is_literal(row):
        return _(
            'Line {line} of {file} names a place that does not exist: "$" and "~" are not expanded there.',
            line=row.line,
            file=row.file,
        )
    if row.form == "setx":
        return _(
            "Line {line} of {file} has no effect here: setx gives a variable to programs that are started later.",
            line=row.line, file=row.file,
        )  # fmt: skip
    if row.form == "setlocal":
        return _(
            "Line {line} of {file} has no effect here: what a called batch file sets after setlocal ends with it.",
            line=row.line, file=row.file,
        )  # fmt: skip
    if row.form == "cmd" and row.name != row.name.strip():
        return _(
            "Line {line} of {file} sets the variable {name}, with the blank in its name, and not {meant}.",
            line=row.line,
            file=row.file,
            name=repr(row.name),
            meant=row.name.strip(),
        )
    if row.form == "powershell":
        return _(
            "Line {line} of {file} sets no variable that a program gets: PowerShell asks for {wanted}.",
            line=row.line,
            file=row.file,
            wanted=f"$env:{row.name} =",
        )
    if row.form == "cmd" and '"' in row.value:
        return _(
            "Line {line} of {file} puts quotation marks into {name}, which the Windows loader takes as a part of a folder's name.",
            line=row.line,
            file=row.file,
            name=row.name,
        )
    if row.form == "cmd":
        return _("Line {line} of {file} has no effect: cmd.exe has no such command.", line=row.line, file=row.file)
    if row.form == "posix":
        return _(
            "Line {line} of {file} has no effect: each line of these commands runs in a shell of its own.",
            line=row.line,
            file=row.file,
        )
    return _(
        "Line {line} of {file} has no effect: such a file accepts only NAME=value, without export.",
        line=row.line,
        file=row.file,
    )


def advice_on(row: StartLine) -> tuple[str, str]:
    """Return what to write in the place of a line without effect."""
    again = _("Then start it again.")
    if _is_literal(row):
        return _("Write the whole path in line {line} of {file}", line=row.line, file=row.file), again
    if row.form == "posix" and any(w in row.file.rpartition("/")[2].lower() for w in OF_IMAGES):
        text = _("Write ENV instead of RUN export in line {line} of {file}", line=row.line, file=row.file)
        return text, f'ENV {row.name}="{row.value}"'
    if row.form == "posix":
        text = _("Put line {line} of {file} before the command, in the same line", line=row.line, file=row.file)
        return text, _("End it with: && \\")
    return _("Remove the word export from line {line} of {file}", line=row.line, file=row.file), again


def _concerns(finding: Finding, start: Start) -> bool:
    here = not finding.ways or start.id in finding.ways
    return here and any(c.endswith(f":{start.prefix}") for c in finding.consumers)


def _would_help(finding: Finding, row: StartLine) -> bool:
    """Whether a variable has to do with what is not found: the loader's does for a library."""
    of_loader = finding.cause in ("cuda_not_on_search_path", "cudnn_not_on_search_path", "cuda_runtime_missing")
    its = row.name.strip().upper() in ("PATH", "CUDA_PATH") if row.form in OF_WINDOWS else row.name.startswith("LD_")
    return its is of_loader


def _row(row: StartLine) -> Evidence:
    label = (
        _("Line that sets {name}", name=row.name)
        if _is_literal(row)
        else _("Ignored line that sets {name}", name=row.name.strip())
    )
    return observation(label, row.value, f"{row.file}:{row.line}")
