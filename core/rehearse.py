"""Rehearse: look again in the environment as it would be, with overlay folders for files; nothing is changed for it.

The finding's own proof is the same examination that found it. It is made by a Host that gives the variables as they
would be, so every child, roll call and search sees the planned machine.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from core.changes import Change, FileSet, SetVariable
from core.facts import Fact, Mapped, RollCall, Snapshot
from core.findings import Finding, Report, Severity
from core.host import Host
from core.i18n import _, sentences, told
from core.probes.cudnn_names import parse
from core.probes.roll_call_form import Part, Roll
from core.probes.roll_call_run import by_child, run
from core.probes.wants import knowledge
from core.rules.loads import failed
from core.rules.words import listed
from core.supposed import AsItWouldBe, WithEnvironment
from core.watch import Watch

Examine = Callable[[Host], Report]


class Rehearsal(Fact, frozen=True, kw_only=True):
    """What a rehearsal showed. ``works`` None: it could not be decided on this machine."""

    works: bool | None
    sentence: str
    loaded: tuple[Mapped, ...] = ()
    """CUDA and cuDNN files that were really mapped, with who owns them."""


def rehearse(
    finding: Finding, report: Report, changes: tuple[Change, ...], *, host: Host, watch: Watch, examine: Examine
) -> Rehearsal:
    """Try the changes out without making them. ``report``: the one that the finding stands in.

    ``examine`` looks at a host and diagnoses what it saw. Temporary folders with links are made and removed again.
    """
    with overlays(changes) as moved:
        for folder, overlay in moved.items():
            roll = _roll_call(overlay, host, watch) if _is_known(folder, report.snapshot) else None
            if roll is not None and not _answered(roll):
                what = next(
                    (
                        f": {c.library or c.function} {told(c.meaning)}"
                        for c in roll.calls
                        if failed(c.function, c.result)
                    ),
                    "",
                )
                return Rehearsal(
                    works=False,
                    sentence=_("Rehearsed on this machine: does not work{what}.", what=what),
                    loaded=roll.mapped,
                )
            if roll is not None:
                return _works(_real(roll.mapped, {**_sources(changes), overlay: folder}))
        if all(isinstance(c, FileSet) for c in changes):
            return Rehearsal(
                works=None, sentence=_("This cannot be tried out without doing it; it is verified afterwards.")
            )
        after = examine(AsItWouldBe(host, changes=changes, moved=moved))
        real = {**_sources(changes), **{overlay: folder for folder, overlay in moved.items()}}
        return judge(finding, report, after, real)


def _sources(changes: tuple[Change, ...]) -> dict[str, str]:
    """Return where each file comes from -> where it will be."""
    return {i.source: i.path for c in changes if isinstance(c, FileSet) for i in c.items if i.source}


def judge(finding: Finding, before: Report, after: Report, real: Mapping[str, str] | None = None) -> Rehearsal:
    """Compare two reports: is the finding gone, and is nothing worse?"""
    still = left(finding, before, after)
    if still:
        return Rehearsal(works=False, sentence=sentences(_("Rehearsed on this machine: does not work."), still))
    if any(e.probe in ("loads", "driver") for e in after.snapshot.errors):
        return Rehearsal(
            works=None,
            sentence=_("It could not be tried out here: {problem}", problem=told(after.snapshot.errors[0].message)),
        )
    mapped = [m for load in after.snapshot.loads or () if load.roll_call for m in load.roll_call.mapped]
    return _works(_real(tuple(dict.fromkeys(mapped)), real or {}))


def left(finding: Finding, before: Report, after: Report) -> str:
    """Return one sentence if the finding is still there, or something became worse; empty when all is well."""
    old = {(f.id, f.subject): f.severity for f in before.findings}
    for f in after.findings:
        if (f.id, f.subject) == (finding.id, finding.subject) and f.severity >= finding.severity:
            return _("Still so: {title}", title=f.title)
    for f in after.findings:
        if f.severity >= Severity.ERROR and f.severity > old.get((f.id, f.subject), Severity.GOOD):
            return _("It would bring another fault: {title}", title=f.title)
    return ""


def _answered(roll: RollCall) -> bool:
    return bool(roll.calls) and not roll.ended and not any(failed(c.function, c.result) for c in roll.calls)


def _works(loaded: tuple[Mapped, ...]) -> Rehearsal:
    folders = list(dict.fromkeys(m.path.replace("\\", "/").rpartition("/")[0] for m in loaded if "cudnn" in m.name))
    where = _("cuDNN was loaded from {folders}.", folders=listed(folders[:3])) if folders else ""
    return Rehearsal(works=True, sentence=sentences(_("Rehearsed on this machine: works."), where), loaded=loaded)


def _real(mapped: tuple[Mapped, ...], real: Mapping[str, str]) -> tuple[Mapped, ...]:
    """Return the files by the names that they will have instead of those in an overlay."""
    out = []
    for m in mapped:
        path = next((folder + m.path[len(o) :] for o, folder in real.items() if m.path.startswith(o)), m.path)
        out.append(Mapped(path=path, name=m.name, origin=m.origin))
    return tuple(out)


# --- overlays ------------------------------------------------------------------------------------------------------


@contextmanager
def overlays(changes: tuple[Change, ...]) -> Iterator[dict[str, str]]:
    """Yield each folder that files are placed in -> a temporary folder that holds what it would hold."""
    made: dict[str, str] = {}
    base = Path(tempfile.mkdtemp(prefix="convalesce-"))
    try:
        for change in changes:
            for item in change.items if isinstance(change, FileSet) else ():
                folder, name = os.path.split(item.path)
                overlay = base / str(len(made)) if folder not in made else Path(made[folder])
                if folder not in made:
                    made[folder] = str(overlay)
                    _mirror(folder, overlay)
                with suppress(FileNotFoundError):
                    (overlay / name).unlink()
                if item.after.startswith("-> "):
                    (overlay / name).symlink_to(item.after[3:])
                elif item.text is not None:
                    (overlay / name).write_text(item.text, encoding="utf-8")
                elif item.after and item.source:
                    _share(item.source, overlay / name)
        yield made
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _mirror(folder: str, overlay: Path) -> None:
    overlay.mkdir()
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file() or entry.is_symlink():
                _share(entry.path, overlay / entry.name)


def _share(source: str, target: Path) -> None:
    """Give a file another name: a hard link where that can be, else a symbolic one, else a copy."""
    real = os.path.realpath(source)
    try:
        target.hardlink_to(real)
    except OSError:
        try:
            target.symlink_to(real)
        except OSError:
            shutil.copyfile(real, target)


def _is_known(folder: str, snapshot: Snapshot) -> bool:
    return any(os.path.normcase(c.folder) == os.path.normcase(folder) for c in snapshot.cudnn or ())


def _roll_call(overlay: str, host: Host, watch: Watch) -> RollCall | None:
    """Call every part of the set in an overlay folder; None when there is no main library in it."""
    names = sorted(p.name for p in Path(overlay).iterdir())
    known = knowledge()
    parsed = [(n, what) for n in names if (what := parse(n, host.system)) and what.major]
    main = next(((n, what) for n, what in parsed if not what.role), None)
    if main is None or main[1].major is None:
        return None
    major = main[1].major
    parts = tuple(
        Part(name=n, tries=(str(Path(overlay) / n),)) for n, what in parsed if what.role and what.major == major
    )
    functions = tuple(c.function for c in known.checks if c.major == major)
    roll = Roll(
        system=host.system, major=major, main=str(Path(overlay) / main[0]), functions=functions, parts=parts,
        folders=(overlay,) if host.system == "windows" else (),
    )  # fmt: skip
    return run(roll, {}, known, by_child(host, host.fresh_environment(), watch))


# --- afterwards ------------------------------------------------------------------------------------------------------


def verify(finding: Finding, before: Report, changes: tuple[Change, ...], *, host: Host, examine: Examine) -> str:
    """Look again after the changes were made; return what is not cured in one sentence, or an empty text.

    Windows' registry and every file are read anew. Activations are really carried out, by a shell. What only the next
    log-in brings (Linux' files of assignments) is supposed.
    """
    prefixes = [c.at for c in changes if isinstance(c, SetVariable) and c.scope == "environment"]
    seen: Host = host
    if prefixes:
        env = activated(prefixes[0], host)
        if env is None:
            return _("The activation of {prefix} failed.", prefix=prefixes[0])
        seen = WithEnvironment(host, env)
    elif host.system == "linux":
        seen = AsItWouldBe(host, changes=changes)
    return left(finding, before, examine(seen))


SHELL = (
    'if [ -d "$1/conda-meta" ]; then . "$1/etc/conda/activate.d/convalesce.sh"; else . "$1/bin/activate"; fi && env -0'
)


def activated(prefix: str, host: Host) -> dict[str, str] | None:
    """Return the environment that a shell has after it activated a Python environment; None when that failed."""
    before = host.fresh_environment()
    done = host.run(["/bin/sh", "-c", SHELL, "sh", prefix], timeout=20, env=before)
    if done.status != 0 or not done.out:
        return None
    pairs = (line.partition("=") for line in done.out.split("\0"))
    found = {n: v for n, equals, v in pairs if equals and n not in ("_", "SHLVL", "PWD", "OLDPWD")}
    return {n: before[n] if n in before and v == before[n] else v for n, v in found.items()}
