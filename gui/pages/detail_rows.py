"""Observations as rows of plain text: GPUs, toolkits, cuDNN copies, search paths, environments. No Qt widgets here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from core.common.i18n import _, format_significant, join_sentences, n_, translate_fact
from core.common.text import join_names
from core.knowledge.horizon import is_beyond_horizon
from core.knowledge.releases import files_lost
from core.model.facts import Attempt, CudnnCopy, Gpu, How, LibraryFile, Load, Snapshot, Toolkit
from core.model.findings import CompatibilityGrid, GridCell, GridRow, Report
from core.model.paths import file_name, form_of, normalise, parent
from core.model.steps import Severity
from core.rules.snapshot_queries import main_resolution
from gui.widgets.row_model import TableRow

BY_SEARCH_PATH = {How.PATH: "PATH", How.LD_LIBRARY_PATH: "LD_LIBRARY_PATH"}
BAD_MARKS = ("unreadable", "unexpanded", "quoted", "relative")
"""Marks of entries that may lead to a wrong place; the loader skips entries with other marks."""


def limit_severity(rows: tuple[TableRow, ...], page: Severity) -> tuple[TableRow, ...]:
    """Return rows with at most their page's severity: what the rules accept is a note at most."""
    most = max(page, Severity.NOTE)
    return tuple(replace(r, severity=min(r.severity, most), inner=limit_severity(r.inner, page)) for r in rows)


def size_text(count: int | None) -> str:
    """Return a number of bytes as text: "245 MB"; empty for None."""
    if count is None:
        return ""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{format_significant(count / factor)} {unit}"
    return f"{count} B"


def memory_text(count: int | None) -> str:
    """Return a GPU's memory as text, in the unit that its maker uses: "24 GiB"."""
    return "" if count is None else f"{format_significant(count / 2**30)} GiB"


def file_word(state: str) -> str:
    """Return the word for a file's state."""
    return {
        "good": _("OK"),
        "missing": _("missing"),
        "dangling": _("dangling link"),
        "empty": _("empty"),
        "truncated": _("cut off"),
        "damaged": _("damaged"),
        "unreadable": _("unreadable"),
        "not a library": _("not a library"),
    }.get(state, state)


# --- driver ------------------------------------------------------------------------------------------------------


def gpu_facts(gpu: Gpu, snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """Return the facts on a GPU's card, below its name."""
    driver = snapshot.driver
    nvml = driver.nvml if driver else None
    unknown = _("not known")
    return (
        (_("Compute capability"), gpu.compute_capability or unknown),
        (_("Memory"), memory_text(gpu.memory_total) or unknown),
        (_("Driver"), (nvml.driver_version if nvml else None) or unknown),
        (_("Runs CUDA up to"), (driver.newest_cuda if driver else "") or unknown),
    )


def device_rows(snapshot: Snapshot) -> tuple[TableRow, ...]:
    """Return NVIDIA's devices on the PCI bus: all that is known if no driver works."""
    driver = snapshot.driver
    found = [d for d in (driver.pci if driver else None) or () if d.vendor_id.lower() == "10de"]
    return tuple(TableRow((d.name or d.device_id, d.bound_driver or _("no driver"), d.address)) for d in found)


# --- toolkits and cuDNN --------------------------------------------------------------------------------------------


def toolkit_rows(found: tuple[Toolkit, ...]) -> tuple[TableRow, ...]:
    """Return each toolkit, with its libraries as inner rows."""
    return tuple(
        TableRow(
            (t.version or "?", t.folder or t.root, _origin(t.origin), ", ".join(t.named_by)),
            tuple(_file(f) for f in t.libraries),
        )
        for t in found
    )


def _origin(origin: str) -> str:
    return {
        "wheel": _("pip"),
        "conda": _("conda"),
        "distribution": _("system package"),
        "installer": _("installer"),
        "folder": _("folder"),
        "framework": _("framework"),
        "system": _("system folder"),
        "driver": _("driver"),
    }.get(origin, origin)


def _file(f: LibraryFile) -> TableRow:
    bad = f.state != "good" or f.record in ("size differs", "hash differs")
    state = file_word(f.state) if f.state != "good" else _("not as delivered") if bad else size_text(f.size)
    return TableRow((f.version or "", f.name, state, f.architecture), severity=Severity.ERROR if bad else Severity.GOOD)


def copy_rows(snapshot: Snapshot) -> tuple[TableRow, ...]:
    """Return each copy of cuDNN, with its present and missing files as inner rows."""
    first = first_folders(snapshot)
    system = snapshot.machine.system
    return tuple(_copy(c, first.get(normalise(system, c.folder), "")) for c in snapshot.cudnn or ())


def _copy(c: CudnnCopy, first: str) -> TableRow:
    files = tuple(_file(f) for f in c.files)
    gone = tuple(TableRow(("", name, _("missing"), ""), severity=Severity.ERROR) for name in files_lost(c))
    wrong = len(gone) + sum(f.severity is Severity.ERROR for f in files)
    newer = is_beyond_horizon("cudnn", c.major)
    complete = n_("no: {n} file", "no: {n} files", wrong) if wrong else _("not judged") if newer else _("yes")
    cells = (c.version or f"{c.major}.?", c.folder, complete, str(c.cuda_major or "?"), first)
    severity = Severity.ERROR if wrong else Severity.UNKNOWN if newer else Severity.GOOD
    return TableRow(cells, (*gone, *files), severity)


def first_folders(snapshot: Snapshot) -> dict[str, str]:
    """Return the folder of the cuDNN that each consumer finds first -> the consumers' names."""
    found: dict[str, list[str]] = {}
    system = snapshot.machine.system
    for load in snapshot.loads or ():
        path = _taken_library(snapshot, load)
        if path:
            found.setdefault(normalise(system, parent(system, path)), []).append(consumer_name(load))
    return {folder: ", ".join(dict.fromkeys(names)) for folder, names in found.items()}


def _taken_library(snapshot: Snapshot, load: Load) -> str:
    """Return the main library that a consumer really loaded, else the one that its loader would load."""
    if load.roll_call and load.roll_call.loaded:
        return load.roll_call.loaded
    search = main_resolution(snapshot, load)
    return search.winner.path if search and search.winner else ""


def consumer_name(load: Load) -> str:
    """Return a consumer's name for a narrow column."""
    if not load.consumer.prefix:
        return translate_fact(load.consumer.label)
    name = file_name(form_of(load.consumer.prefix), load.consumer.prefix.rstrip("\\/"))
    return f"{load.consumer.framework} ({name})" if load.consumer.framework else name


# --- search paths --------------------------------------------------------------------------------------------------


def search_paths(snapshot: Snapshot) -> tuple[TableRow, ...]:
    """Return every entry in the loader's order, with remarks."""
    remarks = _remarks(snapshot)
    rows = []
    for e in snapshot.path_entries:
        own = [mark_word(m) for m in e.marks]
        more = remarks.get((e.variable.upper(), normalise(snapshot.machine.system, e.expanded or e.text)), ())
        bad = any(m in BAD_MARKS for m in e.marks) or bool(more)
        says = ", ".join((*own, *more)) or _("OK")
        cells = (e.variable, str(e.index + 1), e.text or _("(empty)"), says, translate_fact(e.scope))
        rows.append(TableRow(cells, severity=Severity.WARNING if bad else Severity.GOOD))
    return tuple(rows)


def variable_rows(report: Report) -> tuple[TableRow, ...]:
    """Return the variables other than search paths, those with findings first."""
    listed = {e.variable.upper() for e in report.snapshot.path_entries} & {"PATH", "LD_LIBRARY_PATH"}
    worst = {name.upper(): f.severity for f in reversed(report.findings) for name in f.all_subjects}
    rows = [
        TableRow(
            (v.name, v.value or _("(empty)"), translate_fact(v.scope)),
            severity=worst.get(v.name.upper(), Severity.GOOD),
        )
        for v in report.snapshot.variables
        if v.name.upper() not in listed
    ]
    return tuple(sorted(rows, key=lambda r: -r.severity))


def mark_word(mark: str) -> str:
    """Return a mark of a search-path entry in words."""
    return {
        "missing": _("missing"),
        "not a folder": _("not a folder"),
        "unreadable": _("unreadable"),
        "duplicate": _("listed before"),
        "quoted": _("in quotes"),
        "relative": _("relative"),
        "unexpanded": _("not expanded"),
        "trailing slash": _("trailing slash"),
        "brackets": _("brackets"),
        "non-ascii": _("non-ASCII characters"),
        "writable by others": _("other users may write there"),
        "empty": _("empty: the current folder"),
    }.get(mark, mark)


def _remarks(snapshot: Snapshot) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return (variable, folder) -> what the loader's searches show: the entry shadows another, or is for another machine."""
    found: dict[tuple[str, str], list[str]] = {}
    system = snapshot.machine.system
    for load in snapshot.loads or ():
        for search in load.resolutions:
            for attempt, remark in _search_remarks(snapshot, search.found, search.attempts):
                key = (BY_SEARCH_PATH[attempt.how], normalise(system, parent(system, attempt.path)))
                found.setdefault(key, []).append(remark)
    return {key: tuple(dict.fromkeys(remarks))[:2] for key, remarks in found.items()}


def _search_remarks(
    snapshot: Snapshot, found: tuple[Attempt, ...], attempts: tuple[Attempt, ...]
) -> Iterator[tuple[Attempt, str]]:
    system = snapshot.machine.system
    for attempt in attempts:
        if attempt.how in BY_SEARCH_PATH and attempt.outcome == "wrong architecture":
            yield attempt, _("32-bit") if attempt.architecture in ("x86", "i386") else _("for another processor")
    if not found or found[0].how not in BY_SEARCH_PATH:
        return
    mine = normalise(system, parent(system, found[0].path))
    others = [f for a in found[1:] if normalise(system, f := parent(system, a.path)) != mine]
    if others:
        place = next(
            (
                e.index + 1
                for e in snapshot.path_entries
                if normalise(system, e.expanded or e.text) == normalise(system, others[0])
            ),
            None,
        )
        what = others[0] if place is None else _("place {n}", n=place)
        yield found[0], _("shadows {what}", what=what)


# --- environments --------------------------------------------------------------------------------------------------


def environment_rows(report: Report) -> tuple[TableRow, ...]:
    """Return each environment with the verdict and version of each framework, and the reasons as inner rows; those with frameworks first."""
    from core.report.grid import VERDICT_MARKS, verdict_word
    from core.report.standing import cell_severity

    rows: list[TableRow] = []
    grid = report.grid
    if grid is None:
        return ()
    for r in sorted(grid.rows, key=lambda r: not r.cells):
        cells = {c.framework: c for c in r.cells}
        shown = tuple(
            f"{VERDICT_MARKS[c.verdict]} {c.version}" if (c := cells.get(name)) else "" for name in grid.columns
        )
        stands = {c.framework: cell_severity(report, r, c) for c in r.cells}
        worst = max(stands.values(), default=Severity.GOOD)
        reasons = tuple(
            TableRow(
                (f"{c.framework} {c.version}: {verdict_word(c.verdict)}. {_reason(r, c)}",),
                severity=stands[c.framework],
            )
            for c in r.cells
        )
        unread = Severity.UNKNOWN if r.importance == 0 else Severity.NOTE
        problem = (TableRow((translate_fact(r.problem),), severity=unread),) if r.problem else ()
        severity = max(worst, unread) if r.problem else worst
        rows.append(TableRow((r.prefix, r.python or "?", *shown), (*problem, *reasons), severity))
    return tuple(rows)


def _reason(row: GridRow, cell: GridCell) -> str:
    """Return why a cell has its verdict, and what would decide an open one."""
    is_open = cell.verdict == "not decided" and not cell.finding and not row.problem
    command = f"convalesce scan --try --python {row.executable or row.prefix}"
    return join_sentences(cell.reason, _("To decide it: {command}", command=command) if is_open else "")


def choice_rows(grid: CompatibilityGrid) -> tuple[TableRow, ...]:
    """Return for each framework which environment to use; empty if there is no choice."""
    return tuple(TableRow(pair) for pair in grid.best) if _is_choice(grid) else ()


def choice_sentence(grid: CompatibilityGrid) -> str:
    """Return for which frameworks no environment is known to use the GPU; empty if there is no choice, or none of them."""
    best = dict(grid.best)
    without = [column for column in grid.columns if column not in best]
    if not without or not _is_choice(grid):
        return ""
    return f"{join_names(without)}: {_('none is known to use the GPU')}"


def _is_choice(grid: CompatibilityGrid) -> bool:
    return sum(bool(r.cells) for r in grid.rows) >= 2


def grid_legend(grid: CompatibilityGrid) -> str:
    """Return what the signs in the grid mean."""
    from core.report.grid import VERDICT_MARKS, verdict_word

    used = {c.verdict for r in grid.rows for c in r.cells}
    return "   ".join(f"{VERDICT_MARKS[v]} {verdict_word(v)}" for v in VERDICT_MARKS if v in used)
